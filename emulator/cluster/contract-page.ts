import type { ReceivedRequest } from "../http/handler.ts";
import { Passthrough } from "../http/reply.ts";
import { compositeId, contracts } from "./contract-rows.ts";
import type { ClusterWorld } from "./home.ts";

const path = /^\/contracts\/([TH]-(\d{1,15}))$/;

/** The small page behind `contract_link` and signing links (decisions.md, C25); undefined for any other request. */
export async function contractPage(
  { method, target }: Pick<ReceivedRequest, "method" | "target">,
  { store, cluster }: Pick<ClusterWorld, "store" | "cluster">,
): Promise<Passthrough | undefined> {
  const [, composite, number] = path.exec(target.split("?")[0]!) ?? [];
  if (method !== "GET" || composite === undefined || number === undefined) return undefined;
  const row = await store.read((view) => view.get(contracts, number));
  const found = row && row.cluster_id === cluster.id && row.deleted_at === null && compositeId(row) === composite;
  if (!found) return page(404, "No such contract", []);

  const signatures = row.signatories.map(({ name, action }) => {
    const state = action === null ? "has not signed" : action.is_success ? "has signed" : "has declined";
    return `${name} ${state}`;
  });
  return page(200, row.name, [`${composite}: ${row.status}`, ...signatures]);
}

function page(status: number, title: string, lines: readonly string[]): Passthrough {
  const body = [
    "<!doctype html>",
    `<html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title></head>`,
    `<body><h1>${escaped(title)}</h1>`,
    ...lines.map((line) => `<p>${escaped(line)}</p>`),
    "</body></html>",
  ].join("\n");
  const headers = { "content-type": "text/html; charset=utf-8", "content-security-policy": "default-src 'none'" };
  return new Passthrough(status, Object.entries(headers).flat(), Buffer.from(body));
}

/** Names come from requests. */
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
