import { type OAuthClient, oauthClients } from "../../domain/client-credentials.ts";
import { clusterRows } from "../../domain/clusters.ts";
import { findSession, formatSessionCookie } from "../../domain/session-cookie.ts";
import type { User } from "../../domain/workspaces.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import type { Passthrough } from "../../http/reply.ts";
import type { Transaction, View } from "../../store/port.ts";
import { evictOldest } from "../../store/rows.ts";
import type { ClusterContext, ForwardedHandler } from "../context.ts";
import {
  createRedirect,
  findRepeatedParameter,
  formatRepeatedParameter,
  type OAuthParameters,
  readOAuthParameters,
} from "../response.ts";
import {
  authorizationCodes,
  defaultOAuthScope,
  filterKnownScope,
  findUnknownScopes,
  findUserByEmail,
  findUserById,
  parseOAuthScope,
  signInSessions,
} from "./grants.ts";
import { createProblemPage, createSignInPage, createUnknownUserPage } from "./provider-sign-in.ts";
import { verifyIdTokenSubject } from "./tokens.ts";

const authorizePath = "/api/v1/oauth/authorize/";

/** RFC 6749, 4.1.2 recommends at most ten minutes. */
const codeLifetimeMs = 10 * 60 * 1_000;

interface Authorization {
  readonly parameters: OAuthParameters;
  readonly clientId: string;
  readonly redirectTo: string;
  /** The only user who is allowed to sign in, if the client named a user by id_token_hint. */
  readonly expectedSub: string | undefined;
}

/**
 * Authenticates a person for a client (OpenID Connect Core, 3.1.2). Public clients must use PKCE with S256.
 * `svc_user=<e-mail>` skips the page that offers every user. `prompt=none` requires a session (DECISIONS.md, R35).
 */
export const authorizeClient: ForwardedHandler = async (request, context, finding) => {
  const parameters = readOAuthParameters(request);
  const { client_id = "", redirect_uri, cluster_id } = parameters;
  if (cluster_id !== undefined && cluster_id !== context.cluster.id) {
    // The router requests this cluster directly. A person who reached the cluster without the router is redirected to
    // the router.
    const otherCluster = context.store.get(clusterRows, cluster_id);
    const { publicUrl } = context.settings;
    if (otherCluster) return createRedirect(`${publicUrl}${authorizePath}?${new URLSearchParams(parameters)}`);
  }
  const repeatedName = findRepeatedParameter(request);
  // A repeated client_id or redirect_uri makes the redirect target ambiguous.
  if (repeatedName === "client_id" || repeatedName === "redirect_uri")
    return createProblemPage(400, `${formatRepeatedParameter(repeatedName)}.`);
  const client = context.store.get(oauthClients, client_id);
  if (!client) return createProblemPage(400, `Client ${JSON.stringify(client_id)} not found.`);
  const redirectTo = findAllowedRedirect(client, redirect_uri);
  // A redirect to a URI that the client did not register would leak errors.
  if (!redirectTo) return createProblemPage(400, redirectRejectedMessage);

  const { id_token_hint } = parameters;
  const expectedSub = id_token_hint === undefined ? undefined : await verifyIdTokenSubject(context, id_token_hint);
  const authorization = { parameters, clientId: client_id, redirectTo, expectedSub };
  const needsPkce = client.client_secret === null || context.settings.strict.has("pkce");
  const problem =
    repeatedName === undefined
      ? findProblem(parameters, needsPkce)
      : createInvalidRequest(formatRepeatedParameter(repeatedName));
  if (problem) return redirectBack(context, authorization, problem);
  if (id_token_hint !== undefined && expectedSub === undefined) {
    const hintProblem = createInvalidRequest("id_token_hint is not an ID token of this issuer");
    return redirectBack(context, authorization, hintProblem);
  }
  if (parameters.code_challenge === undefined) finding("no-pkce", `${client_id} sent no code_challenge`);
  const unknownScopes = findUnknownScopes(parameters.scope ?? "");
  if (unknownScopes.length > 0) finding("scope-ignored", unknownScopes.join(" "));
  return signIn(request, context, authorization, client.client_name);
};

const redirectRejectedMessage =
  "redirect_uri is missing or not allowed for this client. Use a registered URI, or, without one, any https or loopback URI without fragment and without code, state, iss or error in its query.";

const createInvalidRequest = (description: string) => ({ error: "invalid_request", error_description: description });

/** Unsupported parameters that change the meaning of others (OpenID Connect Core, 3.1.2.6). */
const unsupportedParameters = ["request", "request_uri", "registration"];

function findProblem(parameters: OAuthParameters, needsPkce: boolean): Record<string, string> | undefined {
  const { response_type, response_mode = "query", prompt = "", max_age = "0" } = parameters;
  const unsupportedName = unsupportedParameters.find((name) => parameters[name] !== undefined);
  if (unsupportedName !== undefined) return { error: `${unsupportedName}_not_supported` };
  if (response_type === undefined) return createInvalidRequest("response_type is missing");
  if (response_type !== "code") return { error: "unsupported_response_type" };
  if (response_mode !== "query") return createInvalidRequest("response_mode must be query");
  const prompts = parseOAuthScope(prompt);
  if (prompts.includes("none") && prompts.length > 1)
    return createInvalidRequest("prompt must be none, or must not include none");
  if (!/^\d{1,15}$/.test(max_age)) return createInvalidRequest("max_age must be a number of seconds");
  // The nonce is stored with the code. The emulator chose the limit (DECISIONS.md, E11).
  if ((parameters.nonce ?? "").length > 1_000) return createInvalidRequest("nonce has more than 1,000 characters");
  return findPkceProblem(parameters, needsPkce);
}

function findPkceProblem({ code_challenge, code_challenge_method }: OAuthParameters, isNeeded: boolean) {
  if (code_challenge === undefined) {
    if (isNeeded) return createInvalidRequest("code_challenge is missing: PKCE is required");
    if (code_challenge_method === undefined) return undefined;
    return createInvalidRequest("code_challenge_method requires code_challenge");
  }
  if (code_challenge_method !== "S256") return createInvalidRequest("code_challenge_method must be S256");
  if (!/^[\w-]{43}$/.test(code_challenge)) return createInvalidRequest("code_challenge is not an S256 challenge");
  return undefined;
}

async function signIn(
  request: ReceivedRequest,
  context: ClusterContext,
  authorization: Authorization,
  clientName: string,
): Promise<Passthrough> {
  const { store, cluster, clock } = context;
  const { parameters, expectedSub } = authorization;
  const { svc_user, prompt = "", max_age } = parameters;
  const isExpected = ({ id }: User) => expectedSub === undefined || expectedSub === String(id);
  if (svc_user !== undefined) {
    const user = findUserByEmail(store, cluster.id, svc_user);
    if (!user) return createUnknownUserPage(store, parameters, cluster.id);
    return isExpected(user)
      ? grant(context, authorization, user, undefined)
      : redirectBack(context, authorization, loginRequired);
  }

  const signIn = readSession(store, request, context);
  const prompts = parseOAuthScope(prompt);
  const requiresSignIn = prompts.includes("login") || prompts.includes("select_account") || Number(max_age) === 0;
  if (signIn && isExpected(signIn.user) && !requiresSignIn) {
    const ageMs = clock.now() - signIn.session.signed_in_at;
    if (max_age === undefined || ageMs <= Number(max_age) * 1_000) {
      return grant(context, authorization, signIn.user, signIn.session.signed_in_at);
    }
  }
  if (prompts.includes("none")) return redirectBack(context, authorization, loginRequired);
  return createSignInPage(store, parameters, clientName);
}

/** No signed-in user satisfies the request (OpenID Connect Core, 3.1.2.6). */
const loginRequired = { error: "login_required" };

async function grant(
  context: ClusterContext,
  authorization: Authorization,
  user: User,
  signedInAt: number | undefined,
): Promise<Passthrough> {
  const { store, cluster, clock, ids } = context;
  const { clientId, parameters } = authorization;
  const code = ids.token(32);
  const now = clock.now();
  const cookie = await store.transaction("identity.authorize", (tx) => {
    for (const code of tx.list(authorizationCodes, { by: "expires_at", to: now - codeLifetimeMs })) {
      tx.delete(authorizationCodes, code.code);
    }
    tx.put(authorizationCodes, {
      code,
      cluster_id: cluster.id,
      client_id: clientId,
      user_id: user.id,
      scope: filterKnownScope(parameters.scope ?? defaultOAuthScope),
      signed_in_at: signedInAt ?? now,
      family: ids.token(16),
      redirect_uri: parameters.redirect_uri!,
      code_challenge: parameters.code_challenge ?? null,
      nonce: parameters.nonce ?? null,
      expires_at: now + codeLifetimeMs,
      used: false,
    });
    evictOldest(tx, authorizationCodes, { slice: { by: "expires_at" } });
    return signedInAt === undefined ? beginSession(tx, context, user) : undefined;
  });
  return redirectBack(context, authorization, { code: `${cluster.id}_${code}` }, cookie);
}

/** `iss` is the issuer (RFC 9207). The redirect URI stays byte for byte (RFC 6749, 3.1.2): clients may compare it. */
function redirectBack(
  { settings }: ClusterContext,
  { redirectTo, parameters }: Authorization,
  response: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Passthrough {
  const { state } = parameters;
  const query = new URLSearchParams({ ...response, ...(state !== undefined && { state }), iss: settings.publicUrl });
  return createRedirect(`${redirectTo}${redirectTo.includes("?") ? "&" : "?"}${query}`, headers);
}

/** Browsers resolve names below `localhost` to this machine (RFC 6761, 6.3). */
const loopback = /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$|^\[::1\]$|(?:^|\.)localhost$/;

/**
 * A registered loopback URI can have any port (RFC 8252, 7.3). A client without registered URIs can use any https or
 * loopback URI (DECISIONS.md, R35).
 */
function findAllowedRedirect(client: OAuthClient, redirectUri: string | undefined): string | undefined {
  if (redirectUri === undefined || !absoluteUri.test(redirectUri) || !URL.canParse(redirectUri)) return undefined;
  const url = new URL(redirectUri);
  if (!isSafe(url) || responseParameters.some((name) => url.searchParams.has(name))) return undefined;
  const { redirect_uris } = client;
  const isAllowed =
    redirect_uris.length === 0 ||
    redirect_uris.some((allowedUri) => allowedUri === redirectUri || isEqualExceptPort(allowedUri, url));
  return isAllowed ? redirectUri : undefined;
}

/** Parameters that are appended to a redirect URI, which must not contain them (RFC 6749, 3.1). */
const responseParameters = ["code", "state", "iss", "error", "error_description"];

/** Characters of a URI without a fragment (RFC 3986, 2 and 4.3). Only browsers treat a backslash as a slash. */
const absoluteUri = /^[\w\-.~:/?[\]@!$&'()*+,;=%]+$/;

const isLoopback = ({ hostname }: URL): boolean => loopback.test(hostname);

const isSafe = (url: URL): boolean =>
  (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url))) && url.username === "";

function isEqualExceptPort(allowedUri: string, url: URL): boolean {
  if (!URL.canParse(allowedUri)) return false;
  const allowed = new URL(allowedUri);
  if (!isLoopback(allowed) || !isLoopback(url)) return false;
  allowed.port = url.port;
  return allowed.href === url.href;
}

const sessionLifetimeMs = 12 * 60 * 60 * 1_000;

function readSession(view: View, { headers }: ReceivedRequest, { cluster, clock, settings }: ClusterContext) {
  const value = findSession(headers, settings.publicUrl);
  const prefix = `${cluster.id}_`;
  const session = value?.startsWith(prefix) ? view.get(signInSessions, value.slice(prefix.length)) : undefined;
  if (session?.cluster_id !== cluster.id || session.expires_at <= clock.now()) return undefined;
  const user = findUserById(view, cluster.id, session.user_id);
  return user && { user, session };
}

function beginSession(tx: Transaction, { cluster, clock, ids, settings }: ClusterContext, user: User) {
  const now = clock.now();
  for (const expired of tx.list(signInSessions, { by: "expires_at", to: now })) tx.delete(signInSessions, expired.id);
  const id = ids.token(24);
  tx.put(signInSessions, {
    id,
    cluster_id: cluster.id,
    user_id: user.id,
    signed_in_at: now,
    expires_at: now + sessionLifetimeMs,
  });
  evictOldest(tx, signInSessions, { slice: { by: "expires_at" } });
  // A proxy can serve the router under a path.
  const path = new URL(`${settings.publicUrl}/api/v1/oauth/`).pathname;
  const attributes = `Path=${path}; Max-Age=${sessionLifetimeMs / 1_000}; HttpOnly; SameSite=Lax`;
  return { "set-cookie": formatSessionCookie(`${cluster.id}_${id}`, settings.publicUrl, attributes) };
}
