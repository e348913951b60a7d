import type { ReceivedRequest } from "../http/handler.ts";
import type { Passthrough } from "../http/reply.ts";
import { html, page, pageHeaders } from "../page.ts";
import { compositeId, contracts, type Signatory } from "./contract-rows.ts";
import type { ClusterWorld } from "./home.ts";
import { text } from "./identity/answer.ts";

const path = /^\/contracts\/([TH]-(\d{1,15}))$/;

/**
 * The small page behind `contract_link`, signing links and embedded links (decisions.md, C25); undefined for any other
 * request. An embedded link is made for a frame; nothing on the page can be clicked.
 */
export async function contractPage(
  { method, target }: Pick<ReceivedRequest, "method" | "target">,
  { store, cluster }: Pick<ClusterWorld, "store" | "cluster">,
): Promise<Passthrough | undefined> {
  const [address = "", search] = target.split("?");
  const [, composite, number] = path.exec(address) ?? [];
  if (method !== "GET" || composite === undefined || number === undefined) return undefined;
  const row = await store.read((view) => view.get(contracts, number));
  const found = row && row.cluster_id === cluster.id && row.deleted_at === null && compositeId(row) === composite;
  if (!found) return text(404, page("No such contract", html`<p>There is no ${composite} here.</p>`), pageHeaders());

  const content = html`<p>${composite}: ${row.status}</p>
${row.signatories.map((signatory) => html`<p>${signatory.name} ${stateOf(signatory)}</p>`)}`;
  const framed = new URLSearchParams(search).has("counterparty");
  return text(200, page(row.name, content), pageHeaders([], { framed }));
}

function stateOf({ action }: Signatory): string {
  if (action === null) return "has not signed";
  return action.is_success ? "has signed" : "has declined";
}
