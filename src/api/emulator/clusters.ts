import * as z from "zod";
import { clustersRoute } from "../control-plane.ts";
import { defineOperation, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { nullableString, timestamp } from "../shapes.ts";

export const Cluster = z.strictObject({
  id: z.string(),
  label: z.string(),
  url: z.string().describe("Base URL of the contract API"),
  own_url: z.string().describe("Listening address for programs on this machine; differs from url only behind a proxy"),
  external: z.boolean().describe("Whether the cluster is a back end outside the emulator"),
  cluster_key: z.string().describe("Value for x-cluster-key"),
  client_id: nullableString.describe("API key of its first workspace; null, like the next two, without a workspace"),
  client_secret: z.string().nullable(),
  hmac_key: nullableString.describe("Signing key of its webhooks"),
});

export const listControlClusters = defineOperation({
  ...controlOperation,
  ...clustersRoute,
  summary: "List the clusters with their addresses and keys",
  description: "--json adds the API key of the first workspace of each cluster, as svc emulator env prints it.",
  responses: { 200: json(z.array(Cluster)) },
  cli: {
    command: "emulator clusters",
    columns: [
      "id",
      { name: "label", shrinkPriority: 1 },
      { name: "url", shrinkPriority: 2 },
      "external",
      "cluster_key",
    ],
  },
  examples: [{ title: "List the addresses of the clusters" }],
});

export const InboxRow = z.strictObject({
  id: z.int().describe("Counts up from 1 for each cluster"),
  at: timestamp.describe("Virtual time of arrival"),
  method: z.string(),
  target: z.string().describe("Path and query as the router forwarded them"),
  headers: z
    .array(z.tuple([z.string(), z.string()]))
    .describe("All headers, in the order and case in which they were received, because signatures cover them"),
  body: z.string().describe("Bytes in base64"),
  status: z.int().describe("Response of the cluster"),
});

export const listInbox = defineOperation({
  id: "clusters.inbox",
  ...controlOperation,
  summary: "List the requests that the router forwarded to a cluster",
  description: "Requests are kept in memory; the oldest are dropped first. A reset clears them.",
  path: "/_emulator/clusters/{id}/inbox",
  request: {
    params: z.object({ id: z.string().describe("ID of the cluster") }),
    query: z.object({
      path: z
        .string()
        .startsWith("/", "must start with /")
        .optional()
        .describe("Show only requests to this path; * matches anything"),
      limit: z.int().min(1).max(10_000).default(100).describe("Maximum number of rows, newest first"),
    }),
  },
  responses: {
    200: json(z.strictObject({ items: z.array(InboxRow), total: z.int().describe("Number of all matches") })),
  },
  failures: ["no-such-cluster-here", "external-cluster"],
  cli: {
    command: "emulator inbox",
    rows: "items",
    columns: [
      "id",
      "at",
      "method",
      { name: "target", shrinkPriority: 1, minWidth: 24, omits: "start", purpose: true },
      "status",
    ],
  },
  basis: { assumed: "The control plane is part of the emulator (DECISIONS.md, R38)." },
  examples: [{ title: "List the requests to the first cluster", params: { id: "eu-1" } }],
});
