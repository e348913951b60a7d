import type { Cluster } from "../../domain/clusters.ts";
import { inTransaction } from "../../http/handler.ts";
import { reply } from "../../http/reply.ts";
import type { Mapping } from "../../store/port.ts";
import type { RouterCall, RouterHandlers } from "../context.ts";
import { removeGrants, toUserCodeKey } from "../device/rows.ts";
import { requireCluster } from "../resolve.ts";
import { buildIntegrationKey, buildSignatoryKey, signatories, mappingTables as tables } from "./tables.ts";

interface BulkRequest<Body> {
  readonly body: Body & { readonly cluster_id: string };
}
type BulkCall = RouterCall<"unknown-cluster" | "foreign-cluster-key">;

/** The last writer wins. The response contains the number of moved keys (DECISIONS.md, R9). */
const createMapHandler = <Body>(table: Mapping, listKeys: (body: Body) => readonly string[]) =>
  inTransaction((tx, { body }: BulkRequest<Body>, call: BulkCall) => {
    const cluster = requireCluster(call, body.cluster_id);
    const { moved } = tx.map(table, cluster.id, listKeys(body));
    if (moved > 0) call.finding("mapping-moved", `${moved} of ${table.name} belonged to another cluster`);
    return reply(200, true, { "x-svc-moved": String(moved) });
  });

/** Creates a handler that removes the listed keys of the cluster and ignores other keys (DECISIONS.md, R10). */
const createUnmapHandler = <Body>(table: Mapping, listKeys: (body: Body) => readonly string[]) =>
  inTransaction((tx, { body }: BulkRequest<Body>, call: BulkCall) => {
    const cluster = requireCluster(call, body.cluster_id);
    tx.unmap(table, cluster.id, listKeys(body));
    return true;
  });

const listEmails = (body: { readonly email_hash_list: string[] }) => body.email_hash_list;
const listClients = (body: { readonly client_ids: string[] }) => body.client_ids;
const listTokens = (body: { readonly tokens: string[] }) => body.tokens;
const listTeams = (body: { readonly chat_a_team_id_list: string[] }) => body.chat_a_team_id_list;

const listIntegrationKeys = (body: { readonly external_id_list: string[]; readonly integration_type: string }) =>
  body.external_id_list.map((id) => buildIntegrationKey(id, body.integration_type));

export const mappingTableHandlers = {
  "cluster-emails.show": ({ params: { email_hash } }, { store, fail }) => {
    const cluster_id = store.lookup(tables.cluster_emails, email_hash) ?? fail("no-email-mapping");
    return { email_hash, cluster_id };
  },
  "cluster-emails.map": createMapHandler(tables.cluster_emails, listEmails),
  "cluster-emails.unmap": createUnmapHandler(tables.cluster_emails, listEmails),

  "cluster-clients.show": ({ params: { client_id } }, { store, fail }) => {
    const cluster_id = store.lookup(tables.cluster_clients, client_id) ?? fail("no-client-mapping");
    return { client_id, cluster_id };
  },
  "cluster-clients.map": createMapHandler(tables.cluster_clients, listClients),
  "cluster-clients.unmap": createUnmapHandler(tables.cluster_clients, listClients),

  "invite-tokens.map-creator": createMapHandler(tables.creator_tokens, listTokens),
  "invite-tokens.unmap-creator": createUnmapHandler(tables.creator_tokens, listTokens),
  "invite-tokens.map-counterparty": createMapHandler(tables.counterparty_tokens, listTokens),
  "invite-tokens.unmap-counterparty": createUnmapHandler(tables.counterparty_tokens, listTokens),

  "chat-a-teams.map": createMapHandler(tables.chat_a_teams, listTeams),
  "chat-a-teams.unmap": createUnmapHandler(tables.chat_a_teams, listTeams),

  "external-integrations.map": createMapHandler(tables.external_integrations, listIntegrationKeys),
  "external-integrations.unmap": createUnmapHandler(tables.external_integrations, listIntegrationKeys),

  "clusters.list": (_, { clusters }) => clusters.map(toClusterInfo),

  /** Specification, Clusters: delete only rows of the cluster, in one transaction, and ignore unknown IDs. */
  "clusters.delete-workspace-data": inTransaction((tx, { params, body }, call) => {
    const { id } = requireCluster(call, params.cluster_id);
    tx.unmap(tables.cluster_emails, id, body.email_hash_list ?? []);
    tx.unmap(tables.chat_a_teams, id, body.chat_a_team_id_list ?? []);
    tx.unmap(tables.external_integrations, id, (body.external_integrations ?? []).flatMap(listIntegrationKeys));
    tx.unmap(tables.cluster_clients, id, body.client_ids ?? []);
    tx.unmap(tables.creator_tokens, id, body.creator_tokens ?? []);
    tx.unmap(tables.counterparty_tokens, id, body.cp_tokens ?? []);
    tx.unmap(tables.user_codes, id, (body.user_codes ?? []).map(toUserCodeKey));
    removeGrants(tx, id, body.user_codes ?? []);
    return true;
  }),

  "signatories.add": inTransaction((tx, { body }, { clusters, fail }) => {
    const inputs = [body].flat();
    for (const { cluster } of inputs) {
      if (!clusters.some(({ id }) => id === cluster)) fail("unknown-cluster", { cluster });
    }
    // The newest row has the highest ID, which is reused if the row is deleted.
    const [newestRow] = tx.list(signatories, { reverse: true, limit: 1 });
    let lastId = newestRow?.id ?? 0;
    return inputs.map(({ signatory_hash, cluster, uuid = null }) => {
      const existing = tx.get(signatories, buildSignatoryKey(cluster, signatory_hash));
      const row = existing ?? { id: lastId + 1, uuid, cluster, signatory_hash };
      if (!existing) tx.put(signatories, row);
      lastId = Math.max(lastId, row.id);
      return row;
    });
  }),
} satisfies RouterHandlers;

/** Creates a ClusterInfoDomain, in which an origin ends with a slash (DECISIONS.md, R37). */
const toClusterInfo = ({ id, label, url }: Cluster) => ({
  cluster_id: id,
  cluster_label: label,
  cluster_url: new URL(url).href,
  cluster_oo_url: `${url}/oo`,
  cluster_wopi_oo_url: `${url}/wopi`,
  sidebar_backend_url: `${url}/sidebar`,
});
