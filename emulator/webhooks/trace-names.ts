import { hash } from "../../src/base/hmac.ts";
import type { CauseRow } from "../store/cause.ts";
import type { WebhookEvent } from "./deliveries.ts";

/** How things are called in traces; the names of causes are their ids. The span of each is made of its name. */
export const eventName = (id: number): string => `event:${id}`;
export const deliveryName = (id: number): string => `delivery:${id}`;
export const attemptName = (deliveryId: number, number: number): string => `attempt:${deliveryId}.${number}`;

/** The W3C trace of an event and of its deliveries: that of its cause; where that is not kept, one of its own. */
export const traceOfEvent = (event: Pick<WebhookEvent, "id"> | undefined, cause: CauseRow | undefined): string =>
  cause?.trace ?? hash("sha256", eventName(event?.id ?? 0)).toString("hex", 0, 16);
