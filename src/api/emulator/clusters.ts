import * as z from "zod";
import { assumed } from "../basis.ts";
import { json, operation } from "../operation.ts";
import { emulator } from "../services.ts";

const Cluster = z.strictObject({
  id: z.string(),
  label: z.string(),
  url: z.string().describe("Where clients find it: the base URL of the contract API"),
  own_url: z
    .string()
    .describe("Where it listens, for programs of this machine; another one than url behind a proxy alone"),
  external: z.boolean().describe("A back end that the emulator does not run"),
  cluster_key: z.string().describe("For x-cluster-key"),
  client_id: z.string().nullable().describe("Of its first workspace; null where it has none, as the next two"),
  client_secret: z.string().nullable(),
  hmac_key: z.string().nullable().describe("Signs its webhooks"),
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
  basis: assumed("The control plane is the emulator's own."),
  examples: [{ title: "Where does each cluster listen?" }],
});
