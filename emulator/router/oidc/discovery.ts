/** Endpoints that the routing service itself has (the specification, OpenID Connect; DECISIONS.md, R35 and P4). */
const own = {
  authorization_endpoint: "/api/v1/oauth/authorize/",
  token_endpoint: "/api/v1/oauth/token/",
  userinfo_endpoint: "/api/v1/oauth/userinfo/",
  jwks_uri: "/.well-known/jwks.json",
  // RFC 8628, section 4. Its tokens come from /router/v1/oauth2.0/token/, which discovery cannot say.
  device_authorization_endpoint: "/router/v1/oauth2.0/device/code/",
};

/**
 * A cluster's OpenID configuration with the router's URLs: its issuer, its own endpoints, and every other endpoint of
 * the cluster, which the catch-all reaches. Scopes, response types and algorithms stay the cluster's.
 */
export function discoveryOf(
  configuration: Readonly<Record<string, unknown>>,
  clusterUrl: string,
  publicUrl: string,
): { readonly issuer: string } & Record<string, unknown> {
  const { issuer: theirs, ...rest } = configuration;
  const bases = [clusterUrl, ...(typeof theirs === "string" ? [theirs.replace(/\/$/, "")] : [])];
  const moved = Object.entries(rest).map(([name, value]) => [name, movedTo(publicUrl, name, value, bases)]);
  const ours = Object.entries(own).map(([name, path]) => [name, `${publicUrl}${path}`]);
  return { issuer: publicUrl, ...Object.fromEntries([...moved, ...ours]) };
}

function movedTo(publicUrl: string, name: string, value: unknown, bases: readonly string[]): unknown {
  if (typeof value !== "string" || !/_(endpoint|uri)$/.test(name)) return value;
  const base = bases.find((one) => value === one || value.startsWith(`${one}/`));
  return base === undefined ? value : `${publicUrl}${value.slice(base.length)}`;
}
