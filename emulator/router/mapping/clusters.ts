import type { Cluster } from "../../world/clusters.ts";
import type { RouterHandler, RouterHandlers } from "../context.ts";
import { removeGrants } from "../device/rows.ts";
import { userCodeKey } from "../device/user-codes.ts";
import { requireCluster } from "../resolve/find-cluster.ts";
import { integrationKeys } from "./mapping-tables.ts";
import { mappingTables as tables } from "./tables.ts";

/** ClusterInfoDomain; a bare origin is printed with its slash (DECISIONS.md, R37). */
const infoOf = ({ id, label, url }: Cluster) => ({
  cluster_id: id,
  cluster_label: label,
  cluster_url: new URL(url).href,
  cluster_oo_url: `${url}/oo`,
  cluster_wopi_oo_url: `${url}/wopi`,
  sidebar_backend_url: `${url}/sidebar`,
});

/** The three rules of the specification, Clusters: only rows of the cluster, one transaction, unknown ones ignored. */
const deleteWorkspaceData: RouterHandler<"clusters.delete-workspace-data"> = async ({ params, body }, call) => {
  const { id } = requireCluster(call, params.cluster_id);
  await call.store.transaction("clusters.delete-workspace-data", async (tx) => {
    tx.unmap(tables.cluster_emails, id, body.email_hash_list ?? []);
    tx.unmap(tables.chat_a_teams, id, body.chat_a_team_id_list ?? []);
    tx.unmap(tables.external_integrations, id, (body.external_integrations ?? []).flatMap(integrationKeys));
    tx.unmap(tables.cluster_clients, id, body.client_ids ?? []);
    tx.unmap(tables.creator_tokens, id, body.creator_tokens ?? []);
    tx.unmap(tables.counterparty_tokens, id, body.cp_tokens ?? []);
    tx.unmap(tables.user_codes, id, (body.user_codes ?? []).map(userCodeKey));
    await removeGrants(tx, id, body.user_codes ?? []);
  });
  return true;
};

export const clusterHandlers = {
  "clusters.list": (_, { clusters }) => clusters.map(infoOf),
  "clusters.delete-workspace-data": deleteWorkspaceData,
} satisfies RouterHandlers;
