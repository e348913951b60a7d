import type { ReceivedRequest } from "../../http/handler.ts";
import { framedByAnybody, html, page } from "../../http/page.ts";
import type { Passthrough } from "../../http/reply.ts";
import { pageAnswer } from "../answer.ts";
import { linkOpened } from "../emails/opened-link.ts";
import type { ClusterWorld } from "../world.ts";
import { compositeId, contracts, type Signatory } from "./rows.ts";

const path = /^\/contracts\/([TH]-(\d{1,15}))$/;

/**
 * The small page behind `contract_link`, signing links and embedded links (DECISIONS.md, C25); undefined for any other
 * request. Embedded links and CRMs show it in a frame.
 */
export async function contractPage(
  { method, target }: Pick<ReceivedRequest, "method" | "target">,
  world: Pick<ClusterWorld, "store" | "clock" | "cluster">,
): Promise<Passthrough | undefined> {
  const [, composite, number] = path.exec(target.split("?")[0]!) ?? [];
  if (method !== "GET" || composite === undefined || number === undefined) return undefined;
  const { store, cluster } = world;
  const row = await store.read((view) => view.get(contracts, number));
  const found = row && row.cluster_id === cluster.id && row.deleted_at === null && compositeId(row) === composite;
  if (!found) {
    const content = html`<p>There is no ${composite} here.</p>`;
    return pageAnswer(404, page("No such contract", content, framedByAnybody));
  }

  await linkOpened(world, row, target);
  const content = html`<p>${composite}: ${row.status}</p>
${row.signatories.map((signatory) => html`<p>${signatory.name} ${stateOf(signatory)}</p>`)}`;
  return pageAnswer(200, page(row.name, content, framedByAnybody));
}

function stateOf({ action }: Signatory): string {
  if (action === null) return "has not signed";
  return action.is_success ? "has signed" : "has declined";
}
