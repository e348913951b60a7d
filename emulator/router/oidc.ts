import { redeemDeviceCode } from "../../src/api/router/device-grant.ts";
import { exchangeToken, showDiscovery, showJwks, showUserinfo } from "../../src/api/router/oidc.ts";
import { trimTrailing } from "../../src/base/text.ts";
import { readClusterClaim } from "../../src/schemes/http-authorization.ts";
import {
  authenticateClient,
  createBasicChallenge,
  duplicateClientAuthMessage,
  oauthClients,
} from "../domain/client-credentials.ts";
import type { Cluster } from "../domain/clusters.ts";
import type { OriginPredicate } from "../http/handler.ts";
import { replaceParts } from "../http/outgoing/forward.ts";
import { createJsonPassthrough, noStoreHeaders, type Passthrough, reply } from "../http/reply.ts";
import type { RouterCall, RouterContext, RouterHandler, RouterHandlers } from "./context.ts";
import { issueDeviceTokens } from "./device/device-grant.ts";
import { filterCredentials, forwardToOne } from "./proxied/forward.ts";
import { requestCluster } from "./proxied/request-cluster.ts";
import { findClusterByPrefix } from "./resolve.ts";

const deviceTokenPath = redeemDeviceCode.path;

/** The router itself sends requests to clusters. A cluster that times out counts as down. */
type IdentityCall = RouterCall<"no-cluster-reachable" | "forwarding-loop">;

const uncachedHeaders = { "cache-control": "no-store" };

/** Maximum wait for an external cluster, because clients need the keys before they respond (DECISIONS.md, R35). */
const maxIdentityTimeoutMs = 2_000;

/** Returns the timeout of a cluster. An emulated cluster never hangs, but creates its first key on request. */
const getIdentityTimeout = ({ settings }: IdentityCall, { external }: Cluster): number =>
  external ? Math.min(maxIdentityTimeoutMs, settings.upstreamTimeoutMs) : settings.upstreamTimeoutMs;

export const oidcHandlers = {
  /** Requests the keys of all clusters each time and omits the keys of clusters that are down (DECISIONS.md, P5). */
  "oidc.jwks": async (_, call) => {
    rejectLoop(call);
    const request = filterCredentials(call, "several");
    const send = (cluster: Cluster) => requestCluster(call, cluster, request, getIdentityTimeout(call, cluster));
    const responses = await Promise.all(
      call.clusters.map(async (cluster) => ({ cluster, reply: await send(cluster) })),
    );
    const keySets = responses.flatMap(({ cluster, reply }) => {
      const keys = reply.kind === "answered" && reply.status === 200 ? reply.body?.keys : undefined;
      if (!Array.isArray(keys)) call.finding("keys-missing", `${cluster.id} returned no keys`);
      return Array.isArray(keys) ? [keys] : [];
    });
    if (keySets.length === 0) return call.fail("no-cluster-reachable");
    return reply(200, { keys: filterPublicKeys(keySets.flat()) }, uncachedHeaders);
  },

  "oidc.discovery": async (_, call) => reply(200, await fetchConfiguration(call), uncachedHeaders),

  "oidc.token": ({ body }, call) => {
    const { grant_type } = body;
    if (grant_type === undefined) return call.fail("invalid-request", { reason: "grant_type is missing" });
    if (grant_type === deviceGrantType) return redeemAtTokenEndpoint(body, call);
    if (!Object.hasOwn(prefixedParameters, grant_type)) return call.fail("unsupported-grant-type");
    const name = prefixedParameters[grant_type as keyof typeof prefixedParameters];
    const value = body[name];
    if (value === undefined) return call.fail("invalid-request", { reason: `${name} is missing` });
    return forwardToOne(call, findClusterByPrefix(call.clusters, value) ?? call.fail("invalid-grant"));
  },

  /** The router decodes the token, and the token's cluster verifies it (DECISIONS.md, R36). */
  "oidc.userinfo": (_, call) => {
    const [, token = call.fail("no-access-token")] =
      /^bearer\s+(\S.*)$/i.exec(call.request.headers.authorization ?? "") ?? [];
    const prefix = findClusterByPrefix(call.clusters, token)?.id;
    const claim = readClusterClaim(prefix === undefined ? token : token.slice(prefix.length + 1));
    const owner = call.clusters.find(({ id }) => id === claim) ?? call.fail("invalid-token");
    return forwardToOne(call, owner);
  },
} satisfies RouterHandlers;

/** Returns metadata for an OAuth client without OpenID Connect (RFC 8414; DECISIONS.md, R35). */
export const forwardServerMetadata = async (call: IdentityCall): Promise<Passthrough> =>
  createJsonPassthrough(200, createAuthorizationServerMetadata(await fetchConfiguration(call)), uncachedHeaders);

/** Returns the configuration of the first cluster in seed order that responds with one (DECISIONS.md, R35). */
async function fetchConfiguration(call: IdentityCall) {
  rejectLoop(call);
  const request = replaceParts(filterCredentials(call, "several"), { target: showDiscovery.path });
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

type TokenCall = Parameters<RouterHandler<"oidc.token">>;

/**
 * Redeems a device code at the token endpoint, because standard clients only use the token endpoint of discovery (RFC
 * 8628, 3.4; DECISIONS.md, R30). The specification has another path for device codes, and the router uses it at the
 * cluster.
 */
async function redeemAtTokenEndpoint(body: TokenCall[0]["body"], call: TokenCall[1]): Promise<Passthrough> {
  const { request, store } = call;
  const client = authenticateClient(store, request, body);
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

/** Endpoints of the routing service (specification, OpenID Connect; DECISIONS.md, R35 and P4). */
const endpointPaths = {
  authorization_endpoint: "/api/v1/oauth/authorize/",
  token_endpoint: "/api/v1/oauth/token/",
  userinfo_endpoint: "/api/v1/oauth/userinfo/",
  jwks_uri: "/.well-known/jwks.json",
  // RFC 8628, section 4.
  device_authorization_endpoint: "/router/v1/oauth2.0/device/code/",
};

/** The router redeems device codes whatever grants the cluster supports (RFC 8628, 3.4). */
export const deviceGrantType = "urn:ietf:params:oauth:grant-type:device_code";

/** Default for a configuration without a list of grants (RFC 8414, 2). */
const defaultGrants = ["authorization_code", "implicit"];

/**
 * Creates a cluster's OpenID configuration with the router's URLs: the router's issuer and endpoints, and the cluster's
 * other endpoints through the catch-all. Scopes, response types and algorithms are those of the cluster.
 */
function createDiscoveryDocument(
  configuration: Readonly<Record<string, unknown>>,
  clusterUrl: string,
  publicUrl: string,
): { readonly issuer: string } & Record<string, unknown> {
  const { issuer: clusterIssuer, grant_types_supported: grants, ...rest } = configuration;
  const bases = [clusterUrl, ...(typeof clusterIssuer === "string" ? [clusterIssuer.replace(/\/$/, "")] : [])];
  const rebasedEntries = Object.entries(rest).map(([name, value]) => [name, rebaseUrls(publicUrl, name, value, bases)]);
  const endpoints = Object.entries(endpointPaths).map(([name, path]) => [name, `${publicUrl}${path}`]);
  const allGrants = [...new Set([...(Array.isArray(grants) ? grants : defaultGrants), deviceGrantType])];
  return {
    issuer: publicUrl,
    ...Object.fromEntries([...rebasedEntries, ...endpoints]),
    grant_types_supported: allGrants,
  };
}

/** Fields that OAuth defines (RFC 8414, 2; RFC 8628, 4; RFC 9207, 3). All other fields belong to OpenID. */
const oauthFields: ReadonlySet<string> = new Set([
  ...["issuer", "jwks_uri", "service_documentation", "ui_locales_supported", "op_policy_uri", "op_tos_uri"],
  ...["authorization_endpoint", "registration_endpoint", "device_authorization_endpoint"],
  ...["scopes_supported", "response_types_supported", "response_modes_supported", "grant_types_supported"],
  ...["code_challenge_methods_supported", "authorization_response_iss_parameter_supported"],
  ...["token", "revocation", "introspection"].flatMap((name) => [
    `${name}_endpoint`,
    `${name}_endpoint_auth_methods_supported`,
    `${name}_endpoint_auth_signing_alg_values_supported`,
  ]),
]);

/** The path of OAuth server metadata ends with the path of the issuer (RFC 8414, 3.1). */
export function isServerMetadata(path: string, issuer: string): boolean {
  const wellKnown = "/.well-known/oauth-authorization-server";
  return path === wellKnown || path === wellKnown + trimTrailing(new URL(issuer).pathname, "/");
}

const createAuthorizationServerMetadata = (configuration: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(configuration).filter(([name]) => oauthFields.has(name)));

function rebaseUrls(publicUrl: string, name: string, value: unknown, bases: readonly string[]): unknown {
  if (typeof value !== "string" || !/_(endpoint|uri)$/.test(name)) return value;
  const base = bases.find((candidate) => value === candidate || value.startsWith(`${candidate}/`));
  return base === undefined ? value : `${publicUrl}${value.slice(base.length)}`;
}

const browserPaths: ReadonlySet<string> = new Set(
  [showDiscovery, showJwks, exchangeToken, showUserinfo].map(({ path }) => path),
);

/**
 * Creates the check whether pages of an origin can read a discovery response. An OAuth client in a browser runs at the
 * origin of a redirect URI that it registered (DECISIONS.md, R35).
 */
export const createBrowserOriginCheck =
  ({ store, settings }: Pick<RouterContext, "store" | "settings">): OriginPredicate =>
  (path, origin) =>
    browserPaths.has(path) || isServerMetadata(path, settings.publicUrl)
      ? store.count(oauthClients, { by: "origin", equals: origin }) > 0
      : undefined;
