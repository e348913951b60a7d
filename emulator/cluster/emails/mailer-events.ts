import * as z from "zod";
import { dictionary } from "../../../src/api/dictionary.ts";
import { type MailerEvent, mailerEvents } from "../../../src/api/mailer-events.ts";
import { jsonObject } from "../../http/bodies/fields.ts";
import type { Finding, ReceivedRequest } from "../../http/handler.ts";
import type { Passthrough } from "../../http/reply.ts";
import { emailNamed } from "../../world/emails.ts";
import { json } from "../answer.ts";
import type { ClusterWorld } from "../world.ts";
import { tellEmailEvent } from "./email-event.ts";

/** An event of the e-mail provider; which keys beside these it has depends on its kind. */
const Event = z.looseObject({
  RecordType: z.string(),
  Metadata: dictionary(z.string()),
  /** Of a delivery, an opening or a click; a bounce and a complaint have `Email`. */
  Recipient: z.string().optional(),
  Email: z.string().optional(),
  OriginalLink: z.string().optional(),
  Description: z.string().optional(),
});
type Event = z.infer<typeof Event>;

/** Takes what the e-mail provider reports, and tells what follows from it (DECISIONS.md, R27). */
export async function takeMailerEvent(
  { body }: ReceivedRequest,
  { store, clock, cluster }: ClusterWorld,
  finding: Finding,
): Promise<Passthrough> {
  const parsed = Event.safeParse(jsonObject(body));
  if (!parsed.success) {
    finding("unreadable-mailer-event", "It has no RecordType, or keys of other types than the provider sends");
    return json(200, {});
  }
  const event = parsed.data;
  const type = event.RecordType;
  if (!isKnown(type)) {
    finding("unknown-mailer-event", `${type.slice(0, 100)} is none of ${Object.keys(mailerEvents).join(", ")}`);
    return json(200, {});
  }
  const recorded = await store.transaction("mailer.webhook", async (tx) => {
    const { email_id, contract_id, purpose, recipient } = event.Metadata;
    const named = { email_id, contract_id, purpose, recipient: recipient ?? event.Recipient ?? event.Email };
    const email = await emailNamed(tx, { ...named, cluster_id: cluster.id });
    if (email) await tellEmailEvent(tx, clock, email, { type, detail: detailOf(event) });
    return email !== undefined;
  });
  if (!recorded) finding("unknown-email", `${cluster.id} sent no e-mail of which the Metadata is true`);
  return json(200, {});
}

const isKnown = (type: string): type is MailerEvent => Object.hasOwn(mailerEvents, type);

/** What was clicked, or why it did not come. */
const detailOf = ({ OriginalLink, Description }: Event): string | null =>
  (OriginalLink ?? Description)?.slice(0, 1_000) ?? null;
