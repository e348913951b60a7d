import * as z from "zod";
import { operation } from "../operation.ts";
import { clusterId, identifiers, lookup, lookupFailures, mapping, unmapping } from "./mapping-table.ts";

export const ClusterClientDomain = z.strictObject({ client_id: z.string(), cluster_id: z.string() });

export const BulkClusterClientCreateRequest = z.object({
  client_ids: identifiers("OAuth client ids, and client-ids of API keys"),
  cluster_id: clusterId,
});

const example = { client_ids: ["demo-cli"], cluster_id: "eu-1" };

export const showClusterClient = operation({
  ...lookup(ClusterClientDomain),
  id: "cluster-clients.show",
  summary: "Look up the cluster of an OAuth client",
  path: "/router/v1/cluster_clients/client/{client_id}",
  request: { params: z.object({ client_id: z.string().describe("OAuth client id, or client-id of an API key") }) },
  failures: [...lookupFailures, "no-client-mapping"],
  cli: { command: "router show-client" },
  examples: [{ title: "Find the cluster of a client", params: { client_id: "demo-cli" } }],
});

export const mapClusterClients = operation({
  ...mapping(BulkClusterClientCreateRequest),
  id: "cluster-clients.map",
  summary: "Map OAuth clients to a cluster",
  path: "/router/v1/cluster_clients/bulk",
  cli: { by: "router map-clients" },
  examples: [{ title: "Map one client to eu-1", body: example }],
});

export const unmapClusterClients = operation({
  ...unmapping(BulkClusterClientCreateRequest),
  id: "cluster-clients.unmap",
  summary: "Remove OAuth clients of a cluster",
  description: "Used at workspace offboarding.",
  path: "/router/v1/cluster_clients/bulk",
  cli: { by: "router unmap-clients" },
  examples: [{ title: "Unmap one client of eu-1", body: example }],
});
