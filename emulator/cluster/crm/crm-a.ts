import { queryOf } from "../../http/bodies/fields.ts";
import type { Finding, ReceivedRequest } from "../../http/handler.ts";
import { html, listOf } from "../../http/page.ts";
import type { Passthrough } from "../../http/reply.ts";
import { json, redirect } from "../answer.ts";
import { type Contract, compositeId, contracts } from "../contracts/rows.ts";
import { workspacesOfEmail } from "../identity/people.ts";
import type { ClusterWorld } from "../world.ts";
import { appPage } from "./app-page.ts";
import { type CrmRecord, contractsOfRecord, pageOf } from "./contracts-of-record.ts";

const iframePath = "/router/v1/crm_a/iframe";

/** The page of the contract that is named, else one with those of the record (DECISIONS.md, R29). */
async function openIframe({ target }: ReceivedRequest, world: ClusterWorld, finding: Finding): Promise<Passthrough> {
  const query = new URLSearchParams(queryOf(target));
  const contract = query.get("contract_id");
  const actingIn = await actingWorkspaces(query, world, finding);
  if (contract) return redirect(await pageOfContract(contract, actingIn, world));

  const context = {
    cluster_id: world.cluster.id,
    portal_id: query.get("portalId") ?? undefined,
    object_type: query.get("associatedObjectType") ?? undefined,
    object_id: query.get("associatedObjectId") ?? undefined,
  };
  const found = await foundFor(recordOf(query), actingIn, world);
  const links = found.map((row) => html`<li><a href="${pageOf(world, row)}">${row.name}</a> ${row.status}</li>`);
  const content = html`${listOf(context)}
${links.length > 0 ? html`<ul>${links}</ul>` : html`<p>No contract names this record in its external metadata.</p>`}`;
  return appPage({ title: "Contracts in crm_a", content, context });
}

/** Composite or not; an id of nobody's leads to the page that says so. */
async function pageOfContract(
  id: string,
  actingIn: readonly number[],
  { store, cluster }: ClusterWorld,
): Promise<string> {
  const row = /^\d{1,15}$/.test(id) ? await store.read((view) => view.get(contracts, Number(id))) : undefined;
  const found = row && actingIn.includes(row.workspace_id) && row.deleted_at === null;
  return `${cluster.url}/contracts/${encodeURIComponent(found ? compositeId(row) : id)}`;
}

/** A card for each contract of the record; every link opens in the CRM, or in a browser (DECISIONS.md, R29). */
async function listCards({ target }: ReceivedRequest, world: ClusterWorld, finding: Finding): Promise<Passthrough> {
  const query = new URLSearchParams(queryOf(target));
  const record = recordOf(query);
  const found = await foundFor(record, await actingWorkspaces(query, world, finding), world);
  if (record === undefined || found.length === 0) return json(200, { results: [] });
  const named = new URLSearchParams({ associatedObjectId: record.id });
  if (record.type !== undefined) named.set("associatedObjectType", record.type);
  named.set("userEmail", query.get("userEmail") ?? "");
  return json(200, {
    results: found.map((row) => ({
      objectId: row.id,
      title: row.name,
      link: pageOf(world, row),
      properties: [
        { label: "Contract", dataType: "STRING", value: compositeId(row) },
        { label: "Status", dataType: "STRING", value: row.status },
      ],
      actions: [frame("Open the contract", pageOf(world, row))],
    })),
    primaryAction: frame("Open contracts", `${world.cluster.url}${iframePath}?${named}`),
  });
}

const frame = (label: string, uri: string) => ({ type: "IFRAME", width: 890, height: 748, uri, label });

function recordOf(query: URLSearchParams): CrmRecord | undefined {
  const id = query.get("associatedObjectId");
  return id ? { id, type: query.get("associatedObjectType") || undefined } : undefined;
}

const foundFor = async (
  record: CrmRecord | undefined,
  actingIn: readonly number[],
  { store }: ClusterWorld,
): Promise<readonly Contract[]> =>
  record === undefined ? [] : store.read((view) => contractsOfRecord(view, actingIn, record));

/** Where the person who acts in the CRM is a member: they see contracts of these workspaces, and of no others. */
async function actingWorkspaces(
  query: URLSearchParams,
  { store, cluster }: ClusterWorld,
  finding: Finding,
): Promise<readonly number[]> {
  const email = query.get("userEmail");
  const found = email ? await store.read((view) => workspacesOfEmail(view, cluster.id, email)) : [];
  if (!email) finding("no-acting-user", "userEmail is absent, so no contract is shown");
  else if (found.length === 0) finding("no-acting-user", `${cluster.id} has no active user with that userEmail`);
  return found;
}

export const crmAAnswers = {
  [`GET ${iframePath}`]: openIframe,
  "GET /router/v1/crm_a/cards": listCards,
};
