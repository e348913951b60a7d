import * as z from "zod";
import { defineOperation, json, type Method } from "../operation.ts";
import { routerOperation } from "../services.ts";
import { expectedEmailHash } from "../shapes.ts";

/** Id of the cluster in a bulk request, which owns the listed identifiers. */
export const clusterId = z.string().describe("Cluster that owns the identifiers");

/** Defines a list of identifiers of any length (DECISIONS.md, R16). */
export const defineIdentifiers = (what: string) => z.array(z.string()).describe(what);

/** A list of e-mail hashes of any length. */
export const emailHashes = z.array(expectedEmailHash).describe("E-mail hashes");

const failures = ["missing-cluster-key", "invalid-cluster-key", "foreign-cluster-key", "unknown-cluster"] as const;

/**
 * Returns the shared parts of the bulk operations of the mapping tables (DECISIONS.md, R6, R9, R10). POST maps the
 * listed identifiers to a cluster, and moves those of other clusters. DELETE removes those of the cluster, and ignores
 * unknown identifiers.
 */
const bulk = <const M extends Method, S extends z.ZodObject>(method: M, schema: S) =>
  ({
    ...routerOperation,
    method,
    auth: "cluster-key",
    request: { body: json(schema) },
    responses: { 200: json(z.boolean().describe("Always true")) },
    failures,
  }) as const;

/** Declares an operation that looks up one identifier. Any valid cluster key is accepted. */
const defineLookupOperation = <S extends z.ZodObject>(domain: S) =>
  ({ ...routerOperation, auth: "cluster-key", responses: { 200: json(domain) } }) as const;

/** Failures of a look-up, in addition to the missing mapping. */
const lookupFailures = ["missing-cluster-key", "invalid-cluster-key"] as const;

export const ClusterClientDomain = z.strictObject({ client_id: z.string(), cluster_id: z.string() });

export const BulkClusterClientCreateRequest = z.object({
  client_ids: defineIdentifiers("OAuth client IDs, and client-ids of API keys"),
  cluster_id: clusterId,
});

const example = { client_ids: ["demo-cli"], cluster_id: "eu-1" };

export const showClusterClient = defineOperation({
  ...defineLookupOperation(ClusterClientDomain),
  id: "cluster-clients.show",
  summary: "Look up the cluster of an OAuth client",
  path: "/router/v1/cluster_clients/client/{client_id}",
  request: { params: z.object({ client_id: z.string().describe("OAuth client ID, or client-id of an API key") }) },
  failures: [...lookupFailures, "no-client-mapping"],
  cli: { command: "router show-client" },
  examples: [{ title: "Find the cluster of a client", params: { client_id: "demo-cli" } }],
});

export const mapClusterClients = defineOperation({
  ...bulk("POST", BulkClusterClientCreateRequest),
  id: "cluster-clients.map",
  summary: "Map OAuth clients to a cluster",
  path: "/router/v1/cluster_clients/bulk",
  cli: { by: "router map-clients" },
  examples: [{ title: "Map one client to eu-1", body: example }],
});

export const unmapClusterClients = defineOperation({
  ...bulk("DELETE", BulkClusterClientCreateRequest),
  id: "cluster-clients.unmap",
  summary: "Remove OAuth clients of a cluster",
  description: "Used at workspace offboarding.",
  path: "/router/v1/cluster_clients/bulk",
  cli: { by: "router unmap-clients" },
  examples: [{ title: "Unmap one client of eu-1", body: example }],
});

const emailHash = expectedEmailHash.describe("SHA-256 of the trimmed, lower-cased address, in lower-case hex");

export const ClusterEmailDomain = z.strictObject({ email_hash: z.string(), cluster_id: z.string() });

export const BulkClusterEmailRequest = z.object({ email_hash_list: emailHashes, cluster_id: clusterId });

const clusterEmailsExample = {
  email_hash_list: ["dba86479afbaf94f50b6b6a093bdf29e40656e11874321bfca1718252afe1a0f"],
  cluster_id: "eu-1",
};

export const showClusterEmail = defineOperation({
  ...defineLookupOperation(ClusterEmailDomain),
  id: "cluster-emails.show",
  summary: "Look up the cluster of an e-mail hash",
  path: "/router/v1/cluster_emails/email/{email_hash}",
  request: { params: z.object({ email_hash: emailHash }) },
  failures: [...lookupFailures, "no-email-mapping"],
  cli: { command: "router show-email" },
  examples: [
    {
      title: "Find the cluster of an address",
      params: { email_hash: clusterEmailsExample.email_hash_list[0] as string },
    },
  ],
});

export const mapClusterEmails = defineOperation({
  ...bulk("POST", BulkClusterEmailRequest),
  id: "cluster-emails.map",
  summary: "Map e-mail hashes to a cluster",
  path: "/router/v1/cluster_emails/bulk",
  cli: { by: "router map-emails" },
  examples: [{ title: "Map one address to eu-1", body: clusterEmailsExample }],
});

export const unmapClusterEmails = defineOperation({
  ...bulk("DELETE", BulkClusterEmailRequest),
  id: "cluster-emails.unmap",
  summary: "Remove e-mail hashes of a cluster",
  path: "/router/v1/cluster_emails/bulk",
  cli: { by: "router unmap-emails" },
  examples: [{ title: "Unmap one address of eu-1", body: clusterEmailsExample }],
});

export const ExternalServiceIntegrationType = z.enum(["CHAT_B"]).describe("Service of the external IDs");

export const BulkClusterIntegrationRequest = z.object({
  external_id_list: defineIdentifiers("IDs of the integration, such as the tenant IDs of chat_b"),
  cluster_id: clusterId,
  integration_type: ExternalServiceIntegrationType,
});

const externalIntegrationsExample = {
  external_id_list: ["tenant-northwind"],
  cluster_id: "eu-1",
  integration_type: "CHAT_B",
};

export const mapExternalIntegrations = defineOperation({
  ...bulk("POST", BulkClusterIntegrationRequest),
  id: "external-integrations.map",
  summary: "Map external integrations to a cluster",
  path: "/router/v1/cluster_external_integrations/bulk",
  cli: { by: "router map-external-integrations" },
  examples: [{ title: "Map one chat_b tenant to eu-1", body: externalIntegrationsExample }],
});

export const unmapExternalIntegrations = defineOperation({
  ...bulk("DELETE", BulkClusterIntegrationRequest),
  id: "external-integrations.unmap",
  summary: "Remove external integrations of a cluster",
  path: "/router/v1/cluster_external_integrations/bulk",
  cli: { by: "router unmap-external-integrations" },
  examples: [{ title: "Unmap one chat_b tenant of eu-1", body: externalIntegrationsExample }],
});

export const BulkClusterChatATeamIDRequest = z.object({
  chat_a_team_id_list: defineIdentifiers("Team IDs of chat_a"),
  cluster_id: clusterId,
});

const chatATeamsExample = { chat_a_team_id_list: ["T-NORTHWIND"], cluster_id: "eu-1" };

export const mapChatATeams = defineOperation({
  ...bulk("POST", BulkClusterChatATeamIDRequest),
  auth: "cluster-key-or-bearer",
  id: "chat-a-teams.map",
  summary: "Map chat_a teams to a cluster",
  path: "/router/v1/cluster_chat_a_teams/bulk",
  cli: { by: "router map-chat-a-teams" },
  examples: [{ title: "Map one team to eu-1", body: chatATeamsExample }],
});

export const unmapChatATeams = defineOperation({
  ...bulk("DELETE", BulkClusterChatATeamIDRequest),
  auth: "cluster-key-or-bearer",
  id: "chat-a-teams.unmap",
  summary: "Remove chat_a teams of a cluster",
  path: "/router/v1/cluster_chat_a_teams/bulk",
  cli: { by: "router unmap-chat-a-teams" },
  examples: [{ title: "Unmap one team of eu-1", body: chatATeamsExample }],
});

export const BulkClusterInviteTokenCreateRequest = z.object({
  tokens: defineIdentifiers("Invite tokens"),
  cluster_id: clusterId,
});

const creatorTokensExample = { tokens: ["creator-northwind"], cluster_id: "eu-1" };
const counterpartyTokensExample = { tokens: ["counterparty-northwind"], cluster_id: "eu-1" };

export const mapCreatorTokens = defineOperation({
  ...bulk("POST", BulkClusterInviteTokenCreateRequest),
  id: "invite-tokens.map-creator",
  summary: "Map creator invite tokens to a cluster",
  path: "/router/v1/cluster_tokens/bulk/creator",
  cli: { by: "router map-creator-tokens" },
  examples: [{ title: "Map one token to eu-1", body: creatorTokensExample }],
});

export const unmapCreatorTokens = defineOperation({
  ...bulk("DELETE", BulkClusterInviteTokenCreateRequest),
  id: "invite-tokens.unmap-creator",
  summary: "Remove creator invite tokens of a cluster",
  path: "/router/v1/cluster_tokens/bulk/creator",
  cli: { by: "router unmap-creator-tokens" },
  examples: [{ title: "Unmap one token of eu-1", body: creatorTokensExample }],
});

export const mapCounterpartyTokens = defineOperation({
  ...bulk("POST", BulkClusterInviteTokenCreateRequest),
  id: "invite-tokens.map-counterparty",
  summary: "Map counterparty invite tokens to a cluster",
  path: "/router/v1/cluster_tokens/bulk/counter_party",
  cli: { by: "router map-counterparty-tokens" },
  examples: [{ title: "Map one token to eu-1", body: counterpartyTokensExample }],
});

export const unmapCounterpartyTokens = defineOperation({
  ...bulk("DELETE", BulkClusterInviteTokenCreateRequest),
  id: "invite-tokens.unmap-counterparty",
  summary: "Remove counterparty invite tokens of a cluster",
  path: "/router/v1/cluster_tokens/bulk/counter_party",
  cli: { by: "router unmap-counterparty-tokens" },
  examples: [{ title: "Unmap one token of eu-1", body: counterpartyTokensExample }],
});

export const ContractSignatoryDomainModel = z.strictObject({
  id: z.int(),
  uuid: z.string().nullish(),
  cluster: z.string(),
  signatory_hash: z.string(),
});

const NewSignatory = z.object({
  signatory_hash: z.string().describe("Hash of the signatory's e-mail"),
  cluster: z.string().describe("Cluster that the signatory's contract lives on"),
  uuid: z.string().nullish().describe("ID of the signatory at the cluster"),
});

export const addSignatories = defineOperation({
  id: "signatories.add",
  ...routerOperation,
  summary: "Add signatories and the clusters of their contracts",
  description: "Accepts a list or one signatory. Repeating a hash and cluster returns the same row.",
  method: "POST",
  path: "/router/v1/contract_signatories/",
  request: { body: json(z.union([z.array(NewSignatory), NewSignatory])) },
  responses: { 201: json(z.array(ContractSignatoryDomainModel)) },
  failures: ["unknown-cluster"],
  unknownIsIn: "router clusters",
  cli: { command: "router add-signatories", columns: ["id", "cluster", "signatory_hash", "uuid"] },
  basis: { assumed: "The response is specified, the body is not (DECISIONS.md, R33)." },
  examples: [{ title: "Add one signatory", body: [{ signatory_hash: "5d41402a", cluster: "eu-1" }] }],
});
