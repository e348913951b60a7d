import * as z from "zod";
import { assumed } from "../basis.ts";
import { json, operation } from "../operation.ts";
import { emulator } from "../services.ts";

const Cluster = z.strictObject({
  id: z.string(),
  label: z.string(),
  url: z.string().describe("Base URL of the contract API"),
  own_url: z.string().describe("Listening address for programs on this machine; differs from url only behind a proxy"),
  external: z.boolean().describe("A back end outside the emulator"),
  cluster_key: z.string().describe("Value for x-cluster-key"),
  client_id: z
    .string()
    .nullable()
    .describe("API key of its first workspace; null, like the next two, without a workspace"),
  client_secret: z.string().nullable(),
  hmac_key: z.string().nullable().describe("Signing key of its webhooks"),
});

export const listControlClusters = operation({
  id: "emulator.clusters",
  service: emulator,
  summary: "List the clusters with their addresses and keys",
  description: "--json adds the API key of the first workspace of each cluster, as svc emulator env prints it.",
  method: "GET",
  path: "/_emulator/clusters",
  auth: "control-token",
  request: {},
  responses: { 200: json(z.array(Cluster)) },
  failures: [],
  cli: {
    command: "emulator clusters",
    columns: ["id", { name: "label", cut: 1 }, { name: "url", cut: 2 }, "external", "cluster_key"],
  },
  basis: assumed("The control plane is part of the emulator."),
  examples: [{ title: "List the addresses of the clusters" }],
});
