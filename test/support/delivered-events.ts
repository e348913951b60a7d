import type { TestContext } from "node:test";
import type { Activity } from "../../src/api/activities.ts";
import type { TestEmulator } from "./emulator.ts";
import { startReceiver } from "./receiver.ts";

/** Body of one delivery. */
export interface DeliveredEvent {
  readonly activity: string;
  readonly activity_data: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

/**
 * Subscribes a receiver of the test to activities of the first workspace. Returns a function that runs due deliveries
 * and returns the bodies since the last call, in the order of their events.
 */
export async function subscribe(
  t: Pick<TestContext, "after">,
  { api, control }: Pick<TestEmulator, "api" | "control">,
  activities: readonly Activity[],
): Promise<() => Promise<DeliveredEvent[]>> {
  const target = await startReceiver(t);
  const { status, body } = await api("POST", "/api/v2.1/public/webhooks/", {
    body: { title: "test", url: target.url, only_for_activities: activities },
  });
  if (status !== 201) throw new Error(`The webhook was refused: ${JSON.stringify(body)}`);
  let seenCount = 0;
  return async () => {
    await control("POST", "clock/advance", { body: { by: "PT1S" } });
    const newEvents = target.received.slice(seenCount);
    seenCount = target.received.length;
    const { body: log } = await control("GET", `deliveries?limit=500&webhook=${(body as { id: number }).id}`);
    // Deliveries that are due at the same instant run concurrently, so only their log has the order of the events.
    const { items } = log as { items: { activity: string }[] };
    const order = items.slice(0, newEvents.length).reverse();
    const bodies = newEvents.map((request) => JSON.parse(request.body.toString("utf8")) as DeliveredEvent);
    return order.map(({ activity }) => {
      const at = bodies.findIndex((each) => each.activity === activity);
      return bodies.splice(at, 1)[0]!;
    });
  };
}

export const listActivityNames = (payloads: readonly DeliveredEvent[]): string[] =>
  payloads.map(({ activity }) => activity);
