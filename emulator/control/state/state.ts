import { emailHash } from "../../../src/schemes/email-hash.ts";
import { clockState } from "../../clock/virtual-clock.ts";
import { type Invitation, invitations } from "../../cluster/invitations/rows.ts";
import { addWorkspace } from "../../cluster/workspace/new-workspace.ts";
import { JsonPieces, reply } from "../../http/reply.ts";
import { mappingTables } from "../../router/mapping/tables.ts";
import { lastNumberIn } from "../../store/causes.ts";
import { format } from "../../store/file/format.ts";
import { StateRefused, type View } from "../../store/port.ts";
import { takeOver } from "../../travel/take-over.ts";
import { appRows } from "../../world/apps.ts";
import { clusterRows } from "../../world/clusters.ts";
import { type Workspace, workflows, workspaces } from "../../world/workspaces.ts";
import type { ControlHandlers } from "../world.ts";

export const stateHandlers = {
  "emulator.workspaces": (_, { store }) =>
    store.read(async (view) => Promise.all((await view.list(workspaces)).map((row) => workspaceRecord(view, row)))),

  "emulator.create-workspace": async ({ body }, world) => {
    const { store, clusters, ids, standardSet, fail } = world;
    const { name, template, cluster_id } = body;
    const cluster =
      cluster_id === undefined
        ? clusters.find(({ external }) => !external)
        : clusters.find(({ id }) => id === cluster_id);
    if (!cluster)
      return fail("no-such-cluster-here", {
        cluster: cluster_id ?? "that is emulated",
        known: clusters.map(({ id }) => id),
      });
    if (cluster.external) return fail("external-cluster", { cluster: cluster.id, url: cluster.url });
    const set = template === "demo" ? standardSet() : { ...standardSet(), ...nothing };
    const made = await store.transaction("emulator.create-workspace", async (tx) => {
      const there = (await tx.list(workspaces)).find((one) => one.name.toLowerCase() === name.toLowerCase());
      if (there) return fail("workspace-there", { name: there.name, id: there.id, cluster: there.cluster_id });
      const email = `admin@${ids.uuid()}.example`;
      const owner = { name, email, designation: null };
      const founding = { name, industry: null, use_case: null, owner };
      const row = await addWorkspace(tx, { cluster, ids, standardSet: () => set }, founding);
      tx.map(mappingTables.cluster_clients, cluster.id, [row.client_id]);
      tx.map(mappingTables.cluster_emails, cluster.id, [emailHash(email)]);
      return row;
    });
    return reply(201, await store.read((view) => workspaceRecord(view, made)));
  },

  "state.export": (_, { store }) => new JsonPieces(store.export()),

  "state.import": async ({ body }, { store, blobs, clusters, ids, runner, tokens, requestLog, fail }) => {
    const here = clusters.map((cluster) => cluster.id);
    const there = clusterIdsOf(body);
    if (there && there.join() !== here.join())
      fail("foreign-clusters", { here: here.join(", "), there: there.join(", ") });
    const lacking = alwaysThere.find((name) => rowsOf(body, name).length === 0);
    if (Number(body.svc_state) <= format && lacking)
      fail("invalid-state", { reason: `it holds nothing of ${lacking}` });
    const next = store.beside();
    try {
      await blobs.keepUnnamed();
      await next.replace(body);
    } catch (error) {
      if (error instanceof StateRefused) fail("invalid-state", { reason: error.message });
      throw error;
    }
    await takeOver({ store, clusters, runner, tokens }, next);
    requestLog.goOnAfter(await lastNumberIn(store));
    await ids.goOn(store);
    return undefined;
  },

  "state.reset": async (_, { store, clusters, ids, instance, runner, tokens, requestLog, faults, inboxes }) => {
    const next = store.beside();
    await next.transaction("state.reset", await instance.beginning());
    const restored = () => {
      faults.clear();
      requestLog.goBackTo(0);
    };
    await takeOver({ store, clusters, runner, tokens }, next, { restored, stood: { ids: ids.place() } });
    for (const inbox of inboxes.values()) inbox.clear();
    return undefined;
  },
} satisfies ControlHandlers;

const nothing = { roles: [], contract_types: [], templates: [], workflows: [] };

/** What every seed writes, and nothing takes away: without these no listener could answer. */
const alwaysThere = [clusterRows.name, appRows.name, clockState.name];

const rowsOf = ({ rows }: Readonly<Record<string, unknown>>, name: string): readonly unknown[] =>
  [(rows as Readonly<Record<string, unknown>> | undefined)?.[name] ?? []].flat();

/** The clusters of an exported state in the order of its seed; undefined when it does not look like one. */
function clusterIdsOf(document: Readonly<Record<string, unknown>>): string[] | undefined {
  const rows = rowsOf(document, clusterRows.name);
  return rows.length > 0 ? rows.map((row) => String((row as { id?: unknown } | null)?.id)) : undefined;
}

async function workspaceRecord(view: View, row: Workspace) {
  const ofRow = { by: "workspace", equals: row.id } as const;
  const published = (await view.list(workflows, ofRow)).filter(
    ({ type, frozen_version }) => type === "INTAKE_WORKFLOW" && frozen_version !== null,
  );
  const open = await view.list(invitations, { by: "open", equals: row.id });
  const tokensOf = (wanted: Invitation["kind"]) => open.flatMap(({ kind, token }) => (kind === wanted ? token : []));
  return {
    id: row.id,
    cluster_id: row.cluster_id,
    name: row.name,
    client_id: row.client_id,
    client_secret: row.client_secret,
    hmac_key: row.hmac_key,
    industry: row.industry,
    use_case: row.use_case,
    intake_workflows: published.map(({ id, title }) => ({ id, title })),
    creator_tokens: [...row.creator_tokens, ...tokensOf("creator")],
    counterparty_tokens: [...row.counterparty_tokens, ...tokensOf("counterparty")],
  };
}
