import * as z from "zod";
import { defineOperation, json } from "../operation.ts";
import { routerOperation } from "../services.ts";
import { defineIdentifiers, ExternalServiceIntegrationType, emailHashes } from "./mapping-tables.ts";

export const ClusterInfoDomain = z.strictObject({
  cluster_id: z.string(),
  cluster_label: z.string().describe("Name of the region"),
  cluster_url: z.string().min(1).meta({ format: "uri" }),
  cluster_oo_url: z.string().meta({ format: "uri" }),
  cluster_wopi_oo_url: z.string().meta({ format: "uri" }),
  sidebar_backend_url: z.string().meta({ format: "uri" }),
});

export const WorkspaceExternalIntegrationDelete = z.object({
  external_id_list: defineIdentifiers("IDs of the integration"),
  integration_type: ExternalServiceIntegrationType,
});

export const DeleteWorkspaceDataRequest = z.object({
  email_hash_list: emailHashes.optional(),
  chat_a_team_id_list: defineIdentifiers("Team IDs of chat_a").optional(),
  external_integrations: z.array(WorkspaceExternalIntegrationDelete).optional(),
  client_ids: defineIdentifiers("OAuth client IDs").optional(),
  creator_tokens: defineIdentifiers("Creator invite tokens").optional(),
  cp_tokens: defineIdentifiers("Counterparty invite tokens").optional(),
  user_codes: defineIdentifiers("User codes of device grants").optional(),
});

export const listClusters = defineOperation({
  id: "clusters.list",
  ...routerOperation,
  summary: "List the clusters that the router can route to",
  path: "/router/v1/clusters/",
  responses: { 200: json(z.array(ClusterInfoDomain)) },
  cli: {
    command: "router clusters",
    columns: ["cluster_id", { name: "cluster_label", shrinkPriority: 1 }, { name: "cluster_url", shrinkPriority: 2 }],
  },
  examples: [{ title: "List the clusters" }],
});

export const deleteWorkspaceData = defineOperation({
  id: "clusters.delete-workspace-data",
  ...routerOperation,
  summary: "Delete all routing data of one workspace",
  description: "Deletes only rows of the cluster, in one transaction. Unknown identifiers are ignored.",
  method: "DELETE",
  path: "/router/v1/clusters/{cluster_id}/workspace-data",
  auth: "cluster-key",
  request: {
    params: z.object({ cluster_id: z.string().describe("Cluster that the workspace lives on") }),
    body: json(DeleteWorkspaceDataRequest),
  },
  responses: { 200: json(z.boolean().describe("Always true")) },
  failures: ["missing-cluster-key", "invalid-cluster-key", "foreign-cluster-key", "unknown-cluster"],
  unknownIsIn: "router clusters",
  cli: { by: "router offboard" },
  examples: [
    {
      title: "Remove a client and a token of a workspace",
      params: { cluster_id: "eu-1" },
      body: { client_ids: ["demo-cli"], creator_tokens: ["creator-northwind"] },
    },
  ],
});
