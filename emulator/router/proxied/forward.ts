import { timedOut } from "../../../src/base/timing.ts";
import type { Cluster } from "../../domain/clusters.ts";
import { Passthrough } from "../../http/reply.ts";
import type { BroadcastCall, ForwardCall, SingleClusterCall } from "../context.ts";
import { broadcast, sandboxExternalPage } from "./broadcast.ts";
import { withOwnCredentials } from "./credentials.ts";

/** Sends the unchanged request to its owners, or to all of `others` if it has none. Returns the response to forward. */
export function forwardTo(
  call: ForwardCall,
  owners: readonly Cluster[],
  { others = call.clusters, timeoutMs = call.settings.upstreamTimeoutMs } = {},
): Promise<Passthrough> {
  const [owner, ...more] = owners;
  if (owner && more.length === 0) return forwardToOne(call, owner, timeoutMs);
  return forwardToAll(call, owner ? owners : others, timeoutMs);
}

/** Sends the unchanged request to all of these. Returns the response to forward (DECISIONS.md, R13). */
export function forwardToAll(
  call: BroadcastCall,
  clusters: readonly Cluster[],
  timeoutMs: number = call.settings.upstreamTimeoutMs,
): Promise<Passthrough> {
  if (call.forwarder.isOwn(call.request)) call.fail("forwarding-loop");
  return broadcast(call, clusters, timeoutMs);
}

/** Sends the unchanged request to this cluster. Returns the response to forward (DECISIONS.md, R12). */
export async function forwardToOne(
  call: SingleClusterCall,
  cluster: Cluster,
  timeoutMs: number = call.settings.upstreamTimeoutMs,
): Promise<Passthrough> {
  if (call.forwarder.isOwn(call.request)) call.fail("forwarding-loop");
  const request = await withOwnCredentials(call, cluster);
  const sending = call.forwarder.send(cluster.reachedAt, request);
  call.request.onDisconnect(() => sending.abort());
  const sent = await call.forwarder.withTimeout(timeoutMs, sending.sent);
  if (sent === timedOut) {
    sending.abort();
    return call.fail("cluster-timeout", { cluster: cluster.id });
  }
  if (sent.kind === "unreachable") return call.fail("cluster-unreachable", { cluster: cluster.id });
  return sandboxExternalPage(cluster, sent.answer);
}

/** The router's own response instead of a cluster's. */
export const createRouterResponse = (body: unknown, headers: Readonly<Record<string, string>> = {}): Passthrough =>
  new Passthrough(
    200,
    Object.entries({ "content-type": "application/json", ...headers }).flat(),
    Buffer.from(JSON.stringify(body)),
  );
