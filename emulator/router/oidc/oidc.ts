import { redeemDeviceCode } from "../../../src/api/router/device-grant.ts";
import { showDiscovery } from "../../../src/api/router/oidc.ts";
import { readClusterClaim } from "../../../src/schemes/http-authorization.ts";
import {
  authenticateClient,
  createBasicChallenge,
  duplicateClientAuthMessage,
} from "../../domain/client-credentials.ts";
import type { Cluster } from "../../domain/clusters.ts";
import { replaceParts } from "../../http/outgoing/forward.ts";
import { createJsonPassthrough, noStoreHeaders, type Passthrough, reply } from "../../http/reply.ts";
import type { RouterCall, RouterHandler, RouterHandlers } from "../context.ts";
import { issueDeviceTokens } from "../device/token.ts";
import { filterCredentials, forwardToOne } from "../proxied/forward.ts";
import { requestCluster } from "../proxied/request-cluster.ts";
import { findClusterByPrefix } from "../resolve/resolve.ts";
import { createAuthorizationServerMetadata, createDiscoveryDocument, deviceGrantType } from "./discovery.ts";

const deviceTokenPath = redeemDeviceCode.path;

/** The router itself sends requests to clusters. A cluster that times out counts as down. */
type IdentityCall = RouterCall<"no-cluster-reachable" | "forwarding-loop">;

const uncachedHeaders = { "cache-control": "no-store" };

/** Maximum wait for an external cluster, because clients need the keys before they respond (DECISIONS.md, R35). */
const maxIdentityTimeoutMs = 2_000;

/** Returns the timeout of a cluster. An emulated cluster never hangs, but creates its first key on request. */
const getIdentityTimeout = ({ settings }: IdentityCall, { external }: Cluster): number =>
  external ? Math.min(maxIdentityTimeoutMs, settings.upstreamTimeoutMs) : settings.upstreamTimeoutMs;

/** Requests the keys of all clusters each time and omits the keys of clusters that are down (DECISIONS.md, P5). */
const showJwks: RouterHandler<"oidc.jwks"> = async (_, call) => {
  rejectLoop(call);
  const request = await filterCredentials(call, "several");
  const send = (cluster: Cluster) => requestCluster(call, cluster, request, getIdentityTimeout(call, cluster));
  const responses = await Promise.all(call.clusters.map(async (cluster) => ({ cluster, reply: await send(cluster) })));
  const keySets = responses.flatMap(({ cluster, reply }) => {
    const keys = reply.kind === "answered" && reply.status === 200 ? reply.body?.keys : undefined;
    if (!Array.isArray(keys)) call.finding("keys-missing", `${cluster.id} returned no keys`);
    return Array.isArray(keys) ? [keys] : [];
  });
  if (keySets.length === 0) return call.fail("no-cluster-reachable");
  return reply(200, { keys: filterPublicKeys(keySets.flat()) }, uncachedHeaders);
};

const serveDiscovery: RouterHandler<"oidc.discovery"> = async (_, call) =>
  reply(200, await fetchConfiguration(call), uncachedHeaders);

/** Returns metadata for an OAuth client without OpenID Connect (RFC 8414; DECISIONS.md, R35). */
export const forwardServerMetadata = async (call: IdentityCall): Promise<Passthrough> =>
  createJsonPassthrough(200, createAuthorizationServerMetadata(await fetchConfiguration(call)), uncachedHeaders);

/** Returns the configuration of the first cluster in seed order that responds with one (DECISIONS.md, R35). */
async function fetchConfiguration(call: IdentityCall) {
  rejectLoop(call);
  const request = replaceParts(await filterCredentials(call, "several"), { target: showDiscovery.path });
  for (const cluster of call.clusters) {
    const configuration = await requestCluster(call, cluster, request, getIdentityTimeout(call, cluster));
    if (configuration.kind === "answered" && configuration.status === 200 && configuration.body) {
      return createDiscoveryDocument(configuration.body, cluster.url, call.settings.publicUrl);
    }
    call.finding("configuration-missing", `${cluster.id} returned no OpenID configuration`);
  }
  return call.fail("no-cluster-reachable");
}

function rejectLoop({ forwarder, request, fail }: IdentityCall): void {
  if (forwarder.isOwn(request)) fail("forwarding-loop");
}

/** Parameter of a token request that has the prefix of its cluster. */
const prefixedParameters = { authorization_code: "code", refresh_token: "refresh_token" } as const;

const exchangeToken: RouterHandler<"oidc.token"> = ({ body }, call) => {
  const { grant_type } = body;
  if (grant_type === undefined) return call.fail("invalid-request", { reason: "grant_type is missing" });
  if (grant_type === deviceGrantType) return redeemAtTokenEndpoint(body, call);
  if (!Object.hasOwn(prefixedParameters, grant_type)) return call.fail("unsupported-grant-type");
  const name = prefixedParameters[grant_type as keyof typeof prefixedParameters];
  const value = body[name];
  if (value === undefined) return call.fail("invalid-request", { reason: `${name} is missing` });
  return forwardToOne(call, findClusterByPrefix(call.clusters, value) ?? call.fail("invalid-grant"));
};

type TokenCall = Parameters<RouterHandler<"oidc.token">>;

/**
 * Redeems a device code at the token endpoint, because standard clients only use the token endpoint of discovery (RFC
 * 8628, 3.4; DECISIONS.md, R30). The specification has another path for device codes, and the router uses it at the
 * cluster.
 */
async function redeemAtTokenEndpoint(body: TokenCall[0]["body"], call: TokenCall[1]): Promise<Passthrough> {
  const { request, store } = call;
  const client = await store.read((view) => authenticateClient(view, request, body));
  if (client === "unnamed") return call.fail("invalid-request", { reason: "client_id is missing" });
  if (client === "twice") return call.fail("invalid-request", { reason: duplicateClientAuthMessage });
  if (client === "unproven") return call.fail("unproven-client", createBasicChallenge(request));
  const { device_code } = body;
  if (device_code === undefined) return call.fail("invalid-request", { reason: "device_code is missing" });
  call.finding("device-code-elsewhere", `the specification redeems device codes at ${deviceTokenPath}`);
  const tokenRequest = replaceParts(request, { target: deviceTokenPath });
  const tokens = await issueDeviceTokens(call, device_code, client.client_id, tokenRequest);
  return createJsonPassthrough(200, tokens, noStoreHeaders);
}

/** The router decodes the token, and the token's cluster verifies it (DECISIONS.md, R36). */
const showUserinfo: RouterHandler<"oidc.userinfo"> = (_, call) => {
  const [, token = call.fail("no-access-token")] =
    /^bearer\s+(\S.*)$/i.exec(call.request.headers.authorization ?? "") ?? [];
  const prefix = findClusterByPrefix(call.clusters, token)?.id;
  const claim = readClusterClaim(prefix === undefined ? token : token.slice(prefix.length + 1));
  const owner = call.clusters.find(({ id }) => id === claim) ?? call.fail("invalid-token");
  return forwardToOne(call, owner);
};

export const oidcHandlers = {
  "oidc.jwks": showJwks,
  "oidc.discovery": serveDiscovery,
  "oidc.token": exchangeToken,
  "oidc.userinfo": showUserinfo,
} satisfies RouterHandlers;

type Jwk = { readonly kty: string } & Readonly<Record<string, unknown>>;

/** Fields of private keys (RFC 7518, 6). Clients reject a key set that contains such a field. */
const privateKeyFields = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** Removes duplicates, because clients cannot process two keys with the same ID. */
function filterPublicKeys(keys: readonly unknown[]): Jwk[] {
  const keysByText = new Map<string, Jwk>();
  for (const key of keys) {
    if (!isJwk(key) || key.kty === "oct") continue;
    const publicKey = Object.fromEntries(Object.entries(key).filter(([name]) => !privateKeyFields.includes(name)));
    const text = JSON.stringify(publicKey);
    if (!keysByText.has(text)) keysByText.set(text, { ...publicKey, kty: key.kty });
  }
  return [...keysByText.values()];
}

const isJwk = (value: unknown): value is Jwk =>
  typeof value === "object" && value !== null && "kty" in value && typeof value.kty === "string";
