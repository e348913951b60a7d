import type { ReceivedRequest } from "../../http/handler.ts";
import type { Passthrough } from "../../http/reply.ts";
import { json } from "../answer.ts";
import type { ClusterWorld } from "../world.ts";
import { scopes } from "./scopes.ts";
import { publicJwk } from "./tokens.ts";

/** The cluster's own OpenID configuration; the router puts its URLs in place of these (OpenID Connect Discovery, 3). */
export async function configuration(_: ReceivedRequest, { cluster }: ClusterWorld): Promise<Passthrough> {
  const at = (path: string) => `${cluster.url}${path}`;
  return json(200, {
    issuer: cluster.url,
    authorization_endpoint: at("/api/v1/oauth/authorize/"),
    token_endpoint: at("/api/v1/oauth/token/"),
    userinfo_endpoint: at("/api/v1/oauth/userinfo/"),
    jwks_uri: at("/.well-known/jwks.json"),
    scopes_supported: scopes,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
    code_challenge_methods_supported: ["S256"],
    request_parameter_supported: false,
    // Absent, it would mean that they are taken.
    request_uri_parameter_supported: false,
    prompt_values_supported: ["none", "login", "select_account"],
    authorization_response_iss_parameter_supported: true,
    claims_supported: [
      ...["iss", "sub", "aud", "exp", "iat", "auth_time", "nonce"],
      ...["name", "email", "email_verified", "cluster"],
    ],
  });
}

export async function keySet(_: ReceivedRequest, world: ClusterWorld): Promise<Passthrough> {
  return json(200, { keys: [await publicJwk(world)] }, { "cache-control": "no-store" });
}
