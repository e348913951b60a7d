import { routerFailures } from "../../../src/api/router/failures.ts";
import { LoginV2Request, OAuthProviderType } from "../../../src/api/router/proxied.ts";
import { lookupTable } from "../../../src/base/object.ts";
import { readClientCredentials } from "../../domain/client-credentials.ts";
import { workspaces } from "../../domain/workspaces.ts";
import { parseJsonObject } from "../../http/bodies/fields.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import { createJsonPassthrough, noStoreHeaders, type Passthrough } from "../../http/reply.ts";
import type { ForwardedHandler } from "../context.ts";
import { createOAuthError, readOAuthParameters } from "../response.ts";
import { authorizeClient } from "./authorize.ts";
import {
  buildUserClaims,
  defaultOAuthScope,
  deviceApprovals,
  findUserByEmail,
  findUserById,
  getFirstUser,
  supportedScopes,
} from "./grants.ts";
import { completeProviderSignIn, startProviderSignIn } from "./provider-sign-in.ts";
import { handleTokenRequest } from "./token-endpoint.ts";
import { getPublicJwk, issueTokens, storeRefreshToken, verifyAccessToken } from "./tokens.ts";

/** The router replaces the URLs (OpenID Connect Discovery, 3). */
const getOpenIdConfiguration: ForwardedHandler = (_, { cluster }) => {
  const toUrl = (path: string) => `${cluster.url}${path}`;
  return createJsonPassthrough(200, {
    issuer: cluster.url,
    authorization_endpoint: toUrl("/api/v1/oauth/authorize/"),
    token_endpoint: toUrl("/api/v1/oauth/token/"),
    userinfo_endpoint: toUrl("/api/v1/oauth/userinfo/"),
    jwks_uri: toUrl("/.well-known/jwks.json"),
    scopes_supported: supportedScopes,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post"],
    code_challenge_methods_supported: ["S256"],
    request_parameter_supported: false,
    // Clients assume support if this key is missing.
    request_uri_parameter_supported: false,
    prompt_values_supported: ["none", "login", "select_account"],
    authorization_response_iss_parameter_supported: true,
    claims_supported: [
      ...["iss", "sub", "aud", "exp", "iat", "auth_time", "nonce"],
      ...["name", "email", "email_verified", "cluster"],
    ],
  });
};

const respondWithKeySet: ForwardedHandler = async (_, context) => {
  return createJsonPassthrough(200, { keys: [await getPublicJwk(context)] }, { "cache-control": "no-store" });
};

const tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange";
const issuedTokenType = { issued_token_type: "urn:ietf:params:oauth:token-type:access_token" };

/** The tokens are for the named approver, or for the acting user of the first workspace (DECISIONS.md, R30). */
const issueDeviceToken: ForwardedHandler = async (request, context) => {
  const parameters = readOAuthParameters(request);
  const { device_code, grant_type } = parameters;
  const client_id = parameters.client_id ?? readClientCredentials(request, parameters).id;
  if (client_id === undefined || device_code === undefined) {
    return createOAuthError("invalid_request", "client_id and device_code are required");
  }
  const { store, cluster, clock, ids } = context;
  const result = await store.transaction("identity.device-token", (tx) => {
    const approval = tx.get(deviceApprovals, device_code);
    if (approval) tx.delete(deviceApprovals, device_code);
    const user = approval ? findUserById(tx, cluster.id, approval.user_id) : getFirstUser(tx, cluster.id);
    // Tokens of another user must not be issued.
    if (approval && !user) return undefined;
    const grant = {
      client_id,
      user_id: user?.id ?? null,
      scope: defaultOAuthScope,
      signed_in_at: clock.now(),
      family: ids.token(16),
    };
    return { granted: grant, refresh_token: storeRefreshToken(tx, context, grant) };
  });
  if (!result) return createOAuthError("invalid_grant", "the user who approved the device is gone");
  const tokens = { ...(await issueTokens(context, result.granted)), refresh_token: result.refresh_token };
  const tokenType = grant_type === tokenExchange ? issuedTokenType : {};
  return createJsonPassthrough(200, { ...tokens, ...tokenType }, noStoreHeaders);
};

/** Implements OpenID Connect Core, 5.3, and RFC 6750, 3.1. The token can have the prefix of its cluster. */
const respondWithUserinfo: ForwardedHandler = async (request, context) => {
  const token = readAccessToken(request);
  if (token === "twice") {
    const error_description = "The access token cannot be sent both in the header and in the form";
    const headers = { "www-authenticate": 'Bearer error="invalid_request"' };
    return createJsonPassthrough(400, { error: "invalid_request", error_description }, headers);
  }
  if (token === undefined) return createRejection("no-access-token");
  const prefix = `${context.cluster.id}_`;
  const claims = await verifyAccessToken(context, token.startsWith(prefix) ? token.slice(prefix.length) : token);
  if (!claims) return createRejection("refused-token");

  const { sub = "", client_id, scope } = claims;
  const clusterClaim = { cluster: context.cluster.id };
  // A client without a user acts for itself.
  if (sub === client_id) return createJsonPassthrough(200, { sub, ...clusterClaim });
  const user = findUserById(context.store, context.cluster.id, Number(sub));
  return user
    ? createJsonPassthrough(200, { sub, ...buildUserClaims(user, String(scope)), ...clusterClaim })
    : createRejection("refused-token");
};

/** Implements RFC 6750, 2.1 and 2.2. A token in a URL is not accepted, because URLs are logged. */
function readAccessToken(request: ReceivedRequest): string | "twice" | undefined {
  const [, bearer] = /^bearer\s+(\S.*)$/i.exec(request.headers.authorization ?? "") ?? [];
  const { access_token } = request.method === "POST" ? readOAuthParameters(request) : {};
  return bearer !== undefined && access_token !== undefined ? "twice" : (bearer ?? access_token);
}

function createRejection(code: "no-access-token" | "refused-token"): Passthrough {
  const { status, body, headers } = routerFailures[code];
  return createJsonPassthrough(status, body(), headers?.());
}

/** Every provider is offered, because emulated providers accept every address (DECISIONS.md, R34). */
const getLoginOptions: ForwardedHandler = ({ body }, { store, cluster, settings }) => {
  const request = LoginV2Request.safeParse(parseJsonObject(body));
  if (!request.success) return createJsonPassthrough(400, { detail: "The request has no email" });
  const user = findUserByEmail(store, cluster.id, request.data.email);
  if (!user) return createJsonPassthrough(404, { detail: "No account with this e-mail" });
  return createJsonPassthrough(200, {
    cluster_id: cluster.id,
    email: user.email,
    name: user.name,
    workspace: { id: user.workspace_id, name: store.get(workspaces, user.workspace_id)?.name },
    sign_in: OAuthProviderType.options.map((provider) => ({
      method: "oauth",
      provider,
      login_url: `${settings.publicUrl}/api/v1/svc_auth/oauth/login?${new URLSearchParams({ provider, cluster_id: cluster.id })}`,
    })),
  });
};

/** Handlers of a cluster's identity service, by method and path. */
export const identityRoutes = lookupTable<ForwardedHandler>({
  "GET /.well-known/openid-configuration": getOpenIdConfiguration,
  "GET /.well-known/jwks.json": respondWithKeySet,
  "GET /api/v1/oauth/authorize/": authorizeClient,
  "POST /api/v1/oauth/authorize/": authorizeClient,
  "POST /api/v1/oauth/token/": handleTokenRequest,
  "GET /api/v1/oauth/userinfo/": respondWithUserinfo,
  "POST /api/v1/oauth/userinfo/": respondWithUserinfo,
  "POST /router/v1/oauth2.0/token/": issueDeviceToken,
  "POST /api/v1/svc_auth/login_v2/": getLoginOptions,
  "GET /api/v1/svc_auth/oauth/login": startProviderSignIn("login"),
  "GET /api/v1/svc_auth/oauth/callback": completeProviderSignIn("login"),
  "GET /api/v1/svc_auth/oauth/signup": startProviderSignIn("signup"),
  "GET /api/v1/svc_auth/oauth/signup/callback": completeProviderSignIn("signup"),
});
