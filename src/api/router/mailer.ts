import * as z from "zod";
import { mailerEvents } from "../emulator/deliveries.ts";
import { defineOperation, json, passthrough, raw } from "../operation.ts";
import { routerOperation } from "../services.ts";
import { dictionary } from "../shapes.ts";
import { forwarding } from "./failures.ts";

export const receiveBlackhole = defineOperation({
  id: "mailer.blackhole",
  ...routerOperation,
  summary: "Accept an inbound e-mail and drop it",
  description: "The emulator retains the newest 1,000, up to 16 MiB of base64. List them with svc emulator blackhole.",
  method: "POST",
  path: "/router/v1/mailer/inbound/blackhole",
  request: { body: raw() },
  responses: { 200: json(z.strictObject({})) },
  cli: { command: "mailer blackhole" },
  basis: { assumed: "The path is specified, body and response are not (DECISIONS.md, R27)." },
  examples: [{ title: "Drop an inbound e-mail", body: { Subject: "Hello" } }],
});

const outcomes = [...new Set(Object.values(mailerEvents))];

export const MailerWebhookAPIRequest = z.looseObject({
  Metadata: dictionary(z.string()).describe(
    "Metadata: cluster_id selects the cluster, then email_hash; otherwise all clusters",
  ),
});

export const receiveMailerEvent = defineOperation({
  id: "mailer.webhook",
  ...routerOperation,
  summary: "Forward an event of the e-mail provider to its cluster",
  description:
    "An emulated cluster finds the e-mail by email_id, contract_id, recipient or purpose in Metadata, records Delivery, Open, Click, Bounce, Drop or SpamComplaint, and emits the activities. svc emulator emails shows the metadata of each e-mail.",
  method: "POST",
  path: "/api/v1/emails/mailer/webhook",
  request: { body: json(MailerWebhookAPIRequest) },
  responses: { 200: passthrough() },
  failures: forwarding,
  emits: [
    "MAILER_EMAIL_EVENT",
    ...outcomes.map((outcome) => `SIGNING_EMAIL_${outcome}` as const),
    ...outcomes.map((outcome) => `REDLINING_EMAIL_${outcome}` as const),
  ],
  cli: { command: "mailer webhook" },
  examples: [
    { title: "Report a delivered e-mail", body: { RecordType: "Delivery", Metadata: { cluster_id: "eu-1" } } },
  ],
});
