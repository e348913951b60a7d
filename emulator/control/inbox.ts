import { isoMillis } from "../../src/base/clock.ts";
import { matchesPathPattern } from "../../src/base/path-pattern.ts";
import type { InboxRow } from "../cluster/forwarded/inbox.ts";
import type { ControlHandlers } from "./context.ts";

export const inboxHandlers = {
  "clusters.inbox": ({ params, query: { path, limit } }, { clusters, inboxes, fail }) => {
    const cluster = clusters.find(({ id }) => id === params.id);
    if (!cluster) return fail("no-such-cluster-here", { cluster: params.id, known: clusters.map(({ id }) => id) });
    const inbox = inboxes.get(cluster.id);
    if (!inbox) return fail("external-cluster", { cluster: cluster.id, url: cluster.url });
    const matching = inbox.list().filter(({ target }) => path === undefined || matchesPathPattern(target, path));
    return { items: matching.slice(-limit).map(inboxRecord), total: matching.length };
  },
} satisfies ControlHandlers;

const inboxRecord = ({ id, at, method, target, rawHeaders, body, status }: InboxRow) => ({
  id,
  at: isoMillis(at),
  method,
  target,
  headers: pairs(rawHeaders),
  body: body.toString("base64"),
  status,
});

function pairs(rawHeaders: readonly string[]): [string, string][] {
  const out: [string, string][] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) out.push([rawHeaders[i]!, rawHeaders[i + 1]!]);
  return out;
}
