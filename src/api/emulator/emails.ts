import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { dictionary, nullableString, optionalString, timestamp } from "../shapes.ts";
import { emailPurposes, mailerEventNames } from "./deliveries.ts";
import { contractFilter, defineItemPage, pageQuery } from "./shapes.ts";

const basis = { assumed: "The control plane is part of the emulator (DECISIONS.md, R27)." };

export const Email = z.strictObject({
  id: z.int(),
  cluster_id: nullableString.describe("Cluster; null for the router"),
  workspace_id: z.int().nullable(),
  contract_id: z.int().nullable(),
  purpose: z.enum(emailPurposes),
  recipient: z.string(),
  mode: z.enum(["to", "cc"]),
  subject: z.string().describe("Subject, in the emulator's own words"),
  text: z.string().describe("Text, in the emulator's own words; without the link and the token"),
  link: nullableString.describe("Link for the recipient"),
  token: nullableString.describe("Token that continues a signup or an invitation"),
  sent_at: timestamp,
  metadata: dictionary(z.string()).describe("Metadata for events about this e-mail"),
  events: z
    .array(
      z.strictObject({
        type: z.enum(mailerEventNames),
        at: timestamp,
        detail: nullableString.describe("Clicked link, or reason for the failure"),
      }),
    )
    .describe("Events reported by the provider, oldest first; the last 100"),
});

export const listEmails = defineOperation({
  id: "emails.list",
  ...controlOperation,
  summary: "List the e-mails of the platform, newest first",
  description:
    "The emulator sends no e-mail, but records each one for 90 virtual days. Report its outcome with svc mailer webhook and its metadata. E-mails to signatories and counterparties count as delivered after one virtual minute.",
  path: "/_emulator/emails",
  request: {
    query: z.object({
      contract: contractFilter,
      recipient: optionalString.describe("Show only this recipient"),
      purpose: z.enum(emailPurposes).optional().describe("Show only this purpose"),
      ...pageQuery,
    }),
  },
  responses: { 200: json(defineItemPage(Email)) },
  cli: {
    command: "emulator emails",
    rows: "items",
    columns: [
      "id",
      "sent_at",
      "purpose",
      { name: "recipient", shrinkPriority: 2, minWidth: 16 },
      "contract_id",
      { name: "link", shrinkPriority: 1, minWidth: 32, omits: "middle", purpose: true },
    ],
  },
  basis,
  examples: [{ title: "List the signature requests", query: { purpose: "signing" } }],
});

export const listBlackhole = defineOperation({
  id: "emails.blackhole",
  ...controlOperation,
  summary: "List the inbound e-mails that the blackhole dropped",
  path: "/_emulator/blackhole",
  request: { query: z.object(pageQuery) },
  responses: {
    200: json(
      defineItemPage(
        z.strictObject({
          id: z.int(),
          received_at: timestamp,
          content_type: z.string().nullable(),
          body: z.string().describe("Bytes in base64"),
        }),
      ),
    ),
  },
  cli: { command: "emulator blackhole", rows: "items", columns: ["id", "received_at", "content_type"] },
  basis,
  examples: [{ title: "List the dropped e-mails" }],
});
