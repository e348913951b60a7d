import * as z from "zod";
import { assumed } from "../basis.ts";
import { dictionary } from "../dictionary.ts";
import { emailPurposes, mailerEventNames } from "../mailer-events.ts";
import { json, operation } from "../operation.ts";
import { emulator } from "../services.ts";
import { timestamp } from "../timestamp.ts";
import { contractFilter } from "./shapes/contract-filter.ts";
import { pageOf, pageQuery } from "./shapes/page.ts";

const ours = assumed("The control plane is the emulator's own (DECISIONS.md, R27).");

export const Email = z.strictObject({
  id: z.int(),
  cluster_id: z.string().nullable().describe("Null: of the router"),
  workspace_id: z.int().nullable(),
  contract_id: z.int().nullable(),
  purpose: z.enum(emailPurposes),
  recipient: z.string(),
  mode: z.enum(["to", "cc"]),
  link: z.string().nullable().describe("What the recipient opens"),
  token: z.string().nullable().describe("By which a signup or an invitation goes on"),
  sent_at: timestamp,
  metadata: dictionary(z.string()).describe("For Metadata of an event that is reported of it"),
  events: z
    .array(
      z.strictObject({
        type: z.enum(mailerEventNames),
        at: timestamp,
        detail: z.string().nullable().describe("What was clicked, or why it did not come"),
      }),
    )
    .describe("What the provider has reported, oldest first; the last 100"),
});

export const listEmails = operation({
  id: "emails.list",
  service: emulator,
  summary: "List the e-mails that the platform would send, newest first",
  description:
    "The emulator sends no e-mail: it records each for 90 virtual days. Report its outcome with svc mailer webhook and its metadata. E-mails to signatories and counterparties count as delivered after one virtual minute.",
  method: "GET",
  path: "/_emulator/emails",
  auth: "control-token",
  request: {
    query: z.object({
      contract: contractFilter,
      recipient: z.string().optional().describe("Show only this recipient"),
      purpose: z.enum(emailPurposes).optional().describe("Show only this purpose"),
      ...pageQuery,
    }),
  },
  responses: { 200: json(pageOf(Email)) },
  failures: [],
  cli: {
    command: "emulator emails",
    rows: "items",
    columns: [
      "id",
      "sent_at",
      "purpose",
      { name: "recipient", cut: 2, least: 16 },
      "contract_id",
      { name: "link", cut: 1, least: 32, omits: "middle", purpose: true },
    ],
  },
  basis: ours,
  examples: [{ title: "Who was asked to sign?", query: { purpose: "signing" } }],
});

export const listBlackhole = operation({
  id: "emails.blackhole",
  service: emulator,
  summary: "List the inbound e-mails that the blackhole dropped",
  method: "GET",
  path: "/_emulator/blackhole",
  auth: "control-token",
  request: { query: z.object(pageQuery) },
  responses: {
    200: json(
      pageOf(
        z.strictObject({
          id: z.int(),
          received_at: timestamp,
          content_type: z.string().nullable(),
          body: z.string().describe("The bytes, in base64"),
        }),
      ),
    ),
  },
  failures: [],
  cli: { command: "emulator blackhole", rows: "items", columns: ["id", "received_at", "content_type"] },
  basis: ours,
  examples: [{ title: "Which e-mails were dropped?" }],
});
