import { isEqualInConstantTime } from "../../../src/base/hmac.ts";
import { timedOut } from "../../../src/base/timing.ts";
import { parseBearerToken } from "../../../src/schemes/http-authorization.ts";
import type { Cluster } from "../../domain/clusters.ts";
import type { ForwardResult } from "../../http/outgoing/dispatch.ts";
import { type ForwardableRequest, omitHeaders } from "../../http/outgoing/forward.ts";
import { Passthrough, unchangedHeader } from "../../http/reply.ts";
import type { BroadcastCall, ForwardCall, RouterCall, SingleClusterCall } from "../context.ts";
import { mappingTables } from "../mapping/tables.ts";

/** Forwards the unchanged request to its owners, or without an owner to all of `defaultClusters`. */
export function forwardToOwners(
  call: ForwardCall,
  owners: readonly Cluster[],
  { others: defaultClusters = call.clusters, timeoutMs = call.settings.upstreamTimeoutMs } = {},
): Promise<Passthrough> {
  const [owner, ...otherOwners] = owners;
  if (owner && otherOwners.length === 0) return forwardToOne(call, owner, timeoutMs);
  return forwardToAll(call, owner ? owners : defaultClusters, timeoutMs);
}

/** Forwards the unchanged request to one cluster. Resolves with the response to forward (DECISIONS.md, R12). */
export async function forwardToOne(
  call: SingleClusterCall,
  cluster: Cluster,
  timeoutMs: number = call.settings.upstreamTimeoutMs,
): Promise<Passthrough> {
  if (call.forwarder.isOwn(call.request)) call.fail("forwarding-loop");
  const request = filterCredentials(call, cluster);
  const sending = call.forwarder.send(cluster.internalUrl, request);
  call.request.onDisconnect(() => sending.abort());
  const result = await call.forwarder.withTimeout(timeoutMs, sending.result);
  if (result === timedOut) {
    sending.abort();
    return call.fail("cluster-timeout", { cluster: cluster.id });
  }
  if (result.kind === "unreachable") return call.fail("cluster-unreachable", { cluster: cluster.id });
  const { response } = result;
  // An emulated cluster that could not store the request responds 503 and reports that nothing was changed.
  if (response.status === 503 && !cluster.external && response.findHeader(unchangedHeader[0]) !== undefined)
    return new Passthrough(response.status, response.rawHeaders, response.body, unchangedHeader);
  return sandboxExternalPage(cluster, response);
}

/** Result of the request to one cluster. */
interface ClusterResult {
  readonly cluster: Cluster;
  readonly result: ForwardResult | typeof timedOut;
}

/**
 * Forwards the unchanged request to all of these clusters at once and aborts no request while the caller waits. Returns
 * the first response with a status below 400 that arrives in time. Otherwise returns the response with the lowest
 * status, and the first in seed order if several are equal. On a manual clock or with --deterministic, all responses
 * are awaited, and seed order also ranks successes (DECISIONS.md, R13).
 */
export async function forwardToAll(
  call: BroadcastCall,
  clusters: readonly Cluster[],
  timeoutMs: number = call.settings.upstreamTimeoutMs,
): Promise<Passthrough> {
  if (call.forwarder.isOwn(call.request)) call.fail("forwarding-loop");
  call.finding("asked-several", clusters.map(({ id }) => id).join(", "));
  const request = filterCredentials(call, "several");
  const results = clusters.map(async (cluster): Promise<ClusterResult> => {
    const sending = call.forwarder.send(cluster.internalUrl, request);
    call.request.onDisconnect(() => sending.abort());
    const result = await call.forwarder.withTimeout(timeoutMs, sending.result);
    if (result === timedOut)
      void sending.result.then((lateResult) => discardResult(call, { cluster, result: lateResult }, "late"));
    return { cluster, result };
  });

  const firstSuccess = call.isInSeedOrder() ? undefined : await findFirstSuccess(results);
  const best = firstSuccess ?? pickBest(await Promise.all(results));
  for (const pending of results) {
    void pending.then((result) => result.cluster !== best?.cluster && discardResult(call, result, "not the first"));
  }
  if (best && isAnswered(best)) return sandboxExternalPage(best.cluster, best.result.response);
  return best ? call.fail("cluster-timeout", { cluster: best.cluster.id }) : call.fail("no-cluster-reachable");
}

type AnsweredResult = ClusterResult & { readonly result: Extract<ForwardResult, { kind: "answered" }> };
const isAnswered = (candidate: ClusterResult): candidate is AnsweredResult =>
  candidate.result !== timedOut && candidate.result.kind === "answered";
const isSuccess = (candidate: ClusterResult): candidate is AnsweredResult =>
  isAnswered(candidate) && candidate.result.response.status < 400;

/** Resolves with the first success, or with undefined if no request succeeds. */
const findFirstSuccess = (results: readonly Promise<ClusterResult>[]): Promise<ClusterResult | undefined> =>
  Promise.any(
    results.map((pending) => pending.then((result) => (isSuccess(result) ? result : Promise.reject()))),
  ).catch(() => undefined);

/** Returns the best of all results in seed order: a success, the lowest status, a timeout, or undefined. */
function pickBest(results: readonly ClusterResult[]): ClusterResult | undefined {
  const responses = results.filter(isAnswered);
  return (
    responses.find(isSuccess) ??
    // toSorted is stable, so equal statuses stay in seed order.
    responses.toSorted((a, b) => a.result.response.status - b.result.response.status).at(0) ??
    results.find(({ result }) => result === timedOut)
  );
}

/** Reads an unused response to its end, and reports a finding. */
function discardResult({ finding }: BroadcastCall, { cluster, result }: ClusterResult, reason: string): void {
  if (result === timedOut) return;
  if (result.kind === "unreachable") {
    finding("cluster-unreachable", `${cluster.id}: ${result.reason}`);
    return;
  }
  finding("response-dropped", `${cluster.id} responded ${result.response.status}, ${reason}`);
  void drainBody(result.response.body);
}

async function drainBody(body: Passthrough["body"]): Promise<void> {
  if (body instanceof Uint8Array) return;
  try {
    for await (const _ of body);
  } catch {
    // The request was aborted, so its response is no longer awaited.
  }
}

/** Separate origin of external pages, which could otherwise read the console's session (DECISIONS.md, E13). */
const separateOriginPolicy = [
  "content-security-policy",
  "sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts allow-top-navigation",
] as const;

/** Content types that no browser displays as a page. */
const jsonTypePattern = /^application\/json\s*(?:;\s*charset\s*=\s*"?[\w-]+"?\s*)?$/i;

/** Gives a page of an external cluster a separate origin. All other responses are unchanged. */
export function sandboxExternalPage({ external }: Pick<Cluster, "external">, response: Passthrough): Passthrough {
  if (!external || isJson(response.rawHeaders)) return response;
  // Browsers apply an additional policy together with the cluster's policy.
  return new Passthrough(response.status, [...response.rawHeaders, ...separateOriginPolicy], response.body);
}

/** Returns false for several content types, because browsers have their own rules for choosing between them. */
function isJson(rawHeaders: readonly string[]): boolean {
  const types = rawHeaders.filter((_, i, all) => i % 2 === 1 && all[i - 1]!.toLowerCase() === "content-type");
  return types.length === 1 && jsonTypePattern.test(types[0]!);
}
type CredentialContext = Pick<RouterCall, "request" | "store" | "clusters" | "hideControlTokens" | "finding">;

/**
 * Returns the request for one cluster or for several clusters without foreign credentials. These are keys of other
 * clusters, API keys of workspaces of other clusters, and tokens of the control plane. If a request goes to several
 * clusters, all its credentials are foreign (DECISIONS.md, R14).
 */
export function filterCredentials(call: CredentialContext, recipient: Cluster | "several"): ForwardableRequest {
  const { request } = call;
  const { authorization, "client-id": clientId, "client-secret": clientSecret } = request.headers;
  const key = request.headers["x-cluster-key"];
  const omittedNames: string[] = [];
  if (key !== undefined && !isKeyOf(key, recipient)) omittedNames.push("x-cluster-key");
  if ((clientId ?? clientSecret) !== undefined && !mayHaveClient(call, clientId, recipient))
    omittedNames.push("client-id", "client-secret");
  if (authorization !== undefined && !mayHaveAuthorization(call, authorization, recipient))
    omittedNames.push("authorization");
  if (omittedNames.length === 0) return request;
  const presentNames = omittedNames.filter((name) => request.headers[name] !== undefined);
  call.finding(
    "credentials-omitted",
    `${presentNames.join(", ")}: not for ${recipient === "several" ? "several clusters" : recipient.id}`,
  );
  return omitHeaders(request, omittedNames);
}

const isKeyOf = (key: string, recipient: Cluster | "several"): boolean =>
  recipient !== "several" && isEqualInConstantTime(key, recipient.key);

/** A client without a mapping can belong to the cluster that the request names in another way. */
function mayHaveClient({ store }: CredentialContext, clientId = "", recipient: Cluster | "several"): boolean {
  if (recipient === "several") return false;
  const owner = store.lookup(mappingTables.cluster_clients, clientId);
  return owner === undefined || owner === recipient.id;
}

/** Returns whether a cluster can receive `authorization`, which can be another cluster's key as a bearer token. */
function mayHaveAuthorization(
  { clusters, hideControlTokens }: CredentialContext,
  authorization: string,
  recipient: Cluster | "several",
): boolean {
  if (hideControlTokens(authorization) !== authorization) return false;
  const token = parseBearerToken(authorization) ?? "";
  return isKeyOf(token, recipient) || !clusters.some(({ key }) => isEqualInConstantTime(token, key));
}
