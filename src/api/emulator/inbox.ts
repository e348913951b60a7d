import * as z from "zod";
import { assumed } from "../basis.ts";
import { json, operation } from "../operation.ts";
import { emulator } from "../services.ts";
import { timestamp } from "../timestamp.ts";

const InboxRow = z.strictObject({
  id: z.int().describe("Counts up from 1 for each cluster"),
  at: timestamp.describe("Virtual time at which it came"),
  method: z.string(),
  target: z.string().describe("Path and query as the router passed them on"),
  headers: z
    .array(z.tuple([z.string(), z.string()]))
    .describe("In the order and the case in which they came, unshortened: signatures are made over them"),
  body: z.string().describe("The bytes, in base64"),
  status: z.int().describe("What the cluster answered"),
});

export const listInbox = operation({
  id: "clusters.inbox",
  service: emulator,
  summary: "List the requests that the router forwarded to a cluster",
  description: "Requests are kept in memory; the oldest are dropped first. A reset clears them.",
  method: "GET",
  path: "/_emulator/clusters/{id}/inbox",
  auth: "control-token",
  request: {
    params: z.object({ id: z.string().describe("Id of the cluster") }),
    query: z.object({
      path: z.string().startsWith("/").optional().describe("Show only requests to this path; * matches anything"),
      limit: z.int().min(1).max(10_000).default(100).describe("Maximum number of rows, newest first"),
    }),
  },
  responses: {
    200: json(z.strictObject({ items: z.array(InboxRow), total: z.int().describe("How many match in all") })),
  },
  failures: ["no-such-cluster-here", "external-cluster"],
  cli: {
    command: "emulator inbox",
    rows: "items",
    columns: ["id", "at", "method", { name: "target", cut: 1, least: 24, omits: "start", purpose: true }, "status"],
  },
  basis: assumed("The control plane is the emulator's own (DECISIONS.md, R38)."),
  examples: [{ title: "What reached the first cluster?", params: { id: "eu-1" } }],
});
