import { createHash } from "node:crypto";
import { openCrmB } from "../../src/schemes/connected-apps.ts";
import { readConnectedApps, resolveFrontEnd } from "../domain/apps.ts";
import { findString, readFormFields } from "../http/bodies/fields.ts";
import type { FindingReporter, ReceivedRequest } from "../http/handler.ts";
import { allowFraming, createPage, Html, html, renderDefinitionList } from "../http/page.ts";
import { createJsonPassthrough, type Passthrough } from "../http/reply.ts";
import type { ClusterContext, ForwardedHandler } from "./context.ts";
import { buildContractPath } from "./contracts/links.ts";
import { type Contract, contracts, formatCompositeId, toWorkspaceKey } from "./contracts/rows.ts";
import { listUsersByEmail } from "./identity/grants.ts";
import { renderProblemPage } from "./recipient-pages/contract-page.ts";
import { createPageResponse, createRedirect } from "./response.ts";

interface AppPage {
  readonly title: string;
  readonly content: Html;
  readonly context?: object | undefined;
  readonly frontEnd?: URL | undefined;
}

/** Sends the context only to the front end, once it has loaded. */
const sendContext = `const front = document.querySelector("iframe");
front.addEventListener("load", () => {
  const context = JSON.parse(document.getElementById("context").textContent);
  front.contentWindow.postMessage(context, new URL(front.src).origin);
});`;
const sendContextHash = createHash("sha256").update(sendContext).digest("base64");

/** Renders a page that a CRM shows in a frame. Any page can frame it, but it only loads the front end. */
function renderAppPage({ title, content, context, frontEnd }: AppPage): Passthrough {
  const page = createPage(
    title,
    html`${content}
${context && renderContext(context)}
${frontEnd && html`<iframe title="Front end" src="${frontEnd.href}"></iframe>`}
${frontEnd && context && new Html(`<script>${sendContext}</script>`)}`,
    { ...allowFraming, ...(frontEnd && { "frame-src": frontEnd.origin, "script-src": `'sha256-${sendContextHash}'` }) },
  );
  return createPageResponse(200, page);
}

/** Entities are not decoded within a script, so `</script>` must not appear. */
const renderContext = (context: object): Html =>
  new Html(
    `<script type="application/json" id="context">${JSON.stringify(context).replaceAll("<", "\\u003c")}</script>`,
  );

/** The last of a repeated parameter counts, as for the router (DECISIONS.md, R14). */
const parseQuery = ({ parsedTarget }: ReceivedRequest): URLSearchParams =>
  new URLSearchParams(Object.fromEntries(new URLSearchParams(parsedTarget.search)));

const iframePath = "/router/v1/crm_a/iframe";

/** Responds with the page of the named contract, or of a contract of the record (DECISIONS.md, R29). */
const openIframe: ForwardedHandler = (request, context, finding) => {
  const query = parseQuery(request);
  const id = query.get("contract_id");
  const workspaceIds = findActingWorkspaces(query, context, finding);
  if (id) {
    const url = findContractUrl(id, workspaceIds, context);
    return url === undefined
      ? renderProblemPage(404, "Contract not found", `Contract ${id} not found.`)
      : createRedirect(url);
  }

  const page = {
    cluster_id: context.cluster.id,
    portal_id: query.get("portalId") ?? undefined,
    object_type: query.get("associatedObjectType") ?? undefined,
    object_id: query.get("associatedObjectId") ?? undefined,
  };
  const rows = listContractsOfRecord(parseRecord(query), workspaceIds, context);
  const links = rows.map((row) => html`<li><a href="${buildPageUrl(context, row)}">${row.name}</a> ${row.status}</li>`);
  const content = html`${renderDefinitionList(page)}
${links.length > 0 ? html`<ul>${links}</ul>` : html`<p>No contract names this record in its external metadata.</p>`}`;
  return renderAppPage({ title: "Contracts in crm_a", content, context: page });
};

/** Accepts a composite or a plain ID. The page of an unknown contract says that it does not exist. */
function findContractUrl(id: string, workspaceIds: readonly number[], context: ClusterContext) {
  const row = context.store.get(contracts, Number(id.replace(/^[TH]-/, "")));
  if (!row) return /^[TH]-\d+$/.test(id) ? `${context.cluster.url}/contracts/${id}` : undefined;
  const isVisible = workspaceIds.includes(row.workspace_id) && row.deleted_at === null;
  return isVisible && [String(row.id), formatCompositeId(row)].includes(id) ? buildPageUrl(context, row) : undefined;
}

/** Every link opens in the CRM, or in a browser (DECISIONS.md, R29). */
const listCards: ForwardedHandler = (request, context, finding) => {
  const query = parseQuery(request);
  const record = parseRecord(query);
  const rows = listContractsOfRecord(record, findActingWorkspaces(query, context, finding), context);
  if (record === undefined || rows.length === 0) return createJsonPassthrough(200, { results: [] });
  const parameters = new URLSearchParams({ associatedObjectId: record.id });
  if (record.type !== undefined) parameters.set("associatedObjectType", record.type);
  parameters.set("userEmail", query.get("userEmail") ?? "");
  return createJsonPassthrough(200, {
    results: rows.map((row) => ({
      objectId: row.id,
      title: row.name,
      link: buildPageUrl(context, row),
      properties: [
        { label: "Contract", dataType: "STRING", value: formatCompositeId(row) },
        { label: "Status", dataType: "STRING", value: row.status },
      ],
      actions: [createFrame("Open the contract", buildPageUrl(context, row))],
    })),
    primaryAction: createFrame("Open contracts", `${context.cluster.url}${iframePath}?${parameters}`),
  });
};

const createFrame = (label: string, uri: string) => ({ type: "IFRAME", width: 890, height: 748, uri, label });

function parseRecord(query: URLSearchParams): CrmRecord | undefined {
  const id = query.get("associatedObjectId");
  return id ? { id, type: query.get("associatedObjectType") || undefined } : undefined;
}

function findActingWorkspaces(
  query: URLSearchParams,
  { store, cluster }: ClusterContext,
  finding: FindingReporter,
): readonly number[] {
  const email = query.get("userEmail");
  const actingUsers = email ? listUsersByEmail(store, cluster.id, email) : [];
  if (!email) finding("no-acting-user", "userEmail is missing. No contract is shown");
  else if (actingUsers.length === 0) finding("no-acting-user", `${cluster.id} has no active user with that userEmail`);
  return actingUsers.map(({ workspace_id }) => workspace_id);
}

export const crmARoutes = { [`GET ${iframePath}`]: openIframe, "GET /router/v1/crm_a/cards": listCards };

const path = "/router/v1/crm_b/";
const title = "Contracts in crm_b";

/** Responds with the canvas page and the context of the signed request (DECISIONS.md, R28). */
const openCanvas: ForwardedHandler = (request, { store }) => {
  const { crm_b } = readConnectedApps(store);
  const { signed_request = "" } = readFormFields(request);
  const result = openCrmB(crm_b.consumer_secret, signed_request);
  // The router checks this for forwarded requests. Direct requests are checked here.
  if (!result.ok) return createJsonPassthrough(401, { detail: "Invalid signed request" });
  const { context } = result.envelope;
  return renderAppPage({
    title,
    content: renderDefinitionList({
      user: findString(context, "user", "fullName") ?? findString(context, "user", "userName"),
      organization: findString(context, "organization", "name"),
      place: findString(context, "environment", "displayLocation"),
    }),
    // The CRM's tokens are in `client` of the same envelope, and must not be in a page.
    context: typeof context === "object" && context !== null ? context : {},
    frontEnd: allowFrontEnd(resolveFrontEnd(crm_b, parseQuery(request).get("index_url_override"))),
  });
};

const showCanvas: ForwardedHandler = (request, { store }) => {
  const { crm_b } = readConnectedApps(store);
  return renderAppPage({
    title,
    content: html`<p>The CRM opens this page with a signed request, which identifies the user.</p>`,
    frontEnd: allowFrontEnd(resolveFrontEnd(crm_b, parseQuery(request).get("index_url_override"))),
  });
};

const allowFrontEnd = (frontEnd: URL | "refused" | undefined): URL | undefined =>
  frontEnd === "refused" ? undefined : frontEnd;

export const crmBRoutes = { [`POST ${path}`]: openCanvas, [`GET ${path}`]: showCanvas };

interface CrmRecord {
  readonly id: string;
  /** The type of record, such as CONTACT or DEAL, if the CRM sends it. */
  readonly type: string | undefined;
}

/** DECISIONS.md, R29 */
const maxCards = 5;
/** Maximum number of contracts that are checked. A record's id can belong to several types. */
const maxCheckedContracts = 50;

/** Workspaces that this person cannot see can be connected to the same CRM (DECISIONS.md, R29). */
function listContractsOfRecord(
  record: CrmRecord | undefined,
  workspaceIds: readonly number[],
  { store }: ClusterContext,
): Contract[] {
  if (!record) return [];
  const slices = workspaceIds.map((id) => ({ by: "external", equals: toWorkspaceKey(id, record.id) }) as const);
  const matches = slices.flatMap((slice) =>
    store.list(contracts, { ...slice, reverse: true, limit: maxCheckedContracts }),
  );
  return matches
    .filter((row) => matchesName(record.type, row.external_metadata?.record_type))
    .sort((a, b) => b.id - a.id)
    .slice(0, maxCards);
}

/** A missing type matches every type. */
const matchesName = (requestedName: string | undefined, actualName: string | undefined): boolean =>
  requestedName === undefined || actualName === undefined || requestedName.toLowerCase() === actualName.toLowerCase();

const buildPageUrl = ({ cluster }: Pick<ClusterContext, "cluster">, row: Contract): string =>
  `${cluster.url}${buildContractPath(row)}`;
