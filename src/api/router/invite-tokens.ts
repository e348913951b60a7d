import * as z from "zod";
import { operation } from "../operation.ts";
import { clusterId, identifiers, mapping, unmapping } from "./mapping-table.ts";

export const BulkClusterInviteTokenCreateRequest = z.object({
  tokens: identifiers("Invite tokens"),
  cluster_id: clusterId,
});

const example = { tokens: ["creator-northwind"], cluster_id: "eu-1" };

export const mapCreatorTokens = operation({
  ...mapping(BulkClusterInviteTokenCreateRequest),
  id: "invite-tokens.map-creator",
  summary: "Map creator invite tokens to a cluster",
  path: "/router/v1/cluster_tokens/bulk/creator",
  cli: { by: "router map-creator-tokens" },
  examples: [{ title: "Map one token to eu-1", body: example }],
});

export const unmapCreatorTokens = operation({
  ...unmapping(BulkClusterInviteTokenCreateRequest),
  id: "invite-tokens.unmap-creator",
  summary: "Remove creator invite tokens of a cluster",
  path: "/router/v1/cluster_tokens/bulk/creator",
  cli: { by: "router unmap-creator-tokens" },
  examples: [{ title: "Unmap one token of eu-1", body: example }],
});

export const mapCounterpartyTokens = operation({
  ...mapping(BulkClusterInviteTokenCreateRequest),
  id: "invite-tokens.map-counterparty",
  summary: "Map counterparty invite tokens to a cluster",
  path: "/router/v1/cluster_tokens/bulk/counter_party",
  cli: { by: "router map-counterparty-tokens" },
  examples: [{ title: "Map one token to eu-1", body: example }],
});

export const unmapCounterpartyTokens = operation({
  ...unmapping(BulkClusterInviteTokenCreateRequest),
  id: "invite-tokens.unmap-counterparty",
  summary: "Remove counterparty invite tokens of a cluster",
  path: "/router/v1/cluster_tokens/bulk/counter_party",
  cli: { by: "router unmap-counterparty-tokens" },
  examples: [{ title: "Unmap one token of eu-1", body: example }],
});
