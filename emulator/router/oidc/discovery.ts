import { exchangeToken, showDiscovery, showJwks, showUserinfo } from "../../../src/api/router/oidc.ts";
import { trimTrailing } from "../../../src/base/text.ts";
import { oauthClients } from "../../domain/client-credentials.ts";
import type { OriginPredicate } from "../../http/handler.ts";
import type { RouterContext } from "../context.ts";

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
export function createDiscoveryDocument(
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

/** Returns the OAuth server metadata of an OpenID configuration. */
export const createAuthorizationServerMetadata = (configuration: Readonly<Record<string, unknown>>) =>
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
      ? store.read(async (view) => (await view.count(oauthClients, { by: "origin", equals: origin })) > 0)
      : undefined;
