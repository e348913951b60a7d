import * as z from "zod";
import { operation } from "../operation.ts";
import { clusterId, identifiers, mapping, unmapping } from "./mapping-table.ts";

export const ExternalServiceIntegrationType = z.enum(["CHAT_B"]).describe("Service of the external ids");

export const BulkClusterIntegrationRequest = z.object({
  external_id_list: identifiers("Ids of the integration, such as the tenant ids of chat_b"),
  cluster_id: clusterId,
  integration_type: ExternalServiceIntegrationType,
});

const example = {
  external_id_list: ["tenant-northwind"],
  cluster_id: "eu-1",
  integration_type: "CHAT_B",
};

export const mapExternalIntegrations = operation({
  ...mapping(BulkClusterIntegrationRequest),
  id: "external-integrations.map",
  summary: "Map external integrations to a cluster",
  path: "/router/v1/cluster_external_integrations/bulk",
  cli: { by: "router map-external-integrations" },
  examples: [{ title: "Map one chat_b tenant to eu-1", body: example }],
});

export const unmapExternalIntegrations = operation({
  ...unmapping(BulkClusterIntegrationRequest),
  id: "external-integrations.unmap",
  summary: "Remove external integrations of a cluster",
  path: "/router/v1/cluster_external_integrations/bulk",
  cli: { by: "router unmap-external-integrations" },
  examples: [{ title: "Unmap one chat_b tenant of eu-1", body: example }],
});
