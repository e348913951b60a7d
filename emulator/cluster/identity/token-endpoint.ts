import { isEqualInConstantTime } from "../../../src/base/hmac.ts";
import { lookupTable } from "../../../src/base/object.ts";
import { computeCodeChallenge } from "../../../src/schemes/http-authorization.ts";
import {
  authenticateClient,
  createBasicChallenge,
  duplicateClientAuthMessage,
} from "../../domain/client-credentials.ts";
import { createJsonPassthrough, noStoreHeaders, Passthrough } from "../../http/reply.ts";
import type { Transaction } from "../../store/port.ts";
import type { ClusterContext, ForwardedHandler } from "../context.ts";
import {
  createOAuthError,
  findRepeatedParameter,
  formatRepeatedParameter,
  type OAuthParameters,
  readOAuthParameters,
} from "../response.ts";
import {
  authorizationCodes,
  filterKnownScope,
  findUserById,
  parseOAuthScope,
  type RefreshToken,
  refreshTokens,
} from "./grants.ts";
import { issueTokens, storeRefreshToken, type TokenGrant } from "./tokens.ts";

const createInvalidGrant = (description: string): Passthrough => createOAuthError("invalid_grant", description);

/** Many servers reject other verifiers (RFC 7636, 4.1). */
const invalidVerifierMessage = "code_verifier must have 43 to 128 characters: letters, digits, -, ., _ and ~";

/** Exchanges an authorization code or a refresh token (RFC 6749, 4.1.3 and 6). */
export const handleTokenRequest: ForwardedHandler = async (request, context, finding) => {
  const parameters = readOAuthParameters(request);
  const repeatedName = findRepeatedParameter(request);
  if (repeatedName !== undefined) return createOAuthError("invalid_request", formatRepeatedParameter(repeatedName));
  if (parameters.grant_type === undefined) return createOAuthError("invalid_request", "grant_type is missing");
  const redeem = redeemers[parameters.grant_type];
  if (!redeem)
    return createOAuthError("unsupported_grant_type", "Only authorization_code and refresh_token are supported");
  const client = authenticateClient(context.store, request, parameters);
  if (client === "unnamed") return createOAuthError("invalid_request", "client_id is missing");
  if (client === "twice") return createOAuthError("invalid_request", duplicateClientAuthMessage);
  if (client === "unproven") {
    const description = "The client is unknown, or its secret is wrong";
    return createOAuthError("invalid_client", description, createBasicChallenge(request), 401);
  }
  const { code_verifier } = parameters;
  if (code_verifier !== undefined && !/^[\w.~-]{43,128}$/.test(code_verifier)) {
    if (context.settings.strict.has("pkce")) return createInvalidGrant(invalidVerifierMessage);
    finding("code-verifier", invalidVerifierMessage);
  }

  const result = await context.store.transaction("identity.token", (tx) =>
    redeem(tx, context, parameters, client.client_id),
  );
  if (result instanceof Passthrough) return result;
  const { grant, refresh_token } = result;
  return createJsonPassthrough(200, { ...(await issueTokens(context, grant)), refresh_token }, noStoreHeaders);
};

type GrantRedeemer = (
  tx: Transaction,
  context: ClusterContext,
  parameters: OAuthParameters,
  clientId: string,
) => { readonly grant: TokenGrant; readonly refresh_token: string } | Passthrough;

const redeemCode: GrantRedeemer = (tx, context, parameters, clientId) => {
  const missingName = ["code", "redirect_uri"].find((name) => parameters[name] === undefined);
  if (missingName !== undefined) return createOAuthError("invalid_request", `${missingName} is missing`);
  const { code = "", redirect_uri, code_verifier } = parameters;
  const codeRow = tx.get(authorizationCodes, stripPrefix(context, code));
  const row = checkGrant(tx, context, clientId, codeRow, ["code", "refresh tokens"]);
  if (row instanceof Passthrough) return row;
  if (row.redirect_uri !== redirect_uri)
    return createInvalidGrant("redirect_uri differs from that of the authorization request");
  const problem = findPkceProblem(row.code_challenge, code_verifier) ?? findUserProblem(tx, context, row);
  if (problem) return problem;
  tx.put(authorizationCodes, { ...row, used: true });
  return { grant: row, refresh_token: storeRefreshToken(tx, context, row) };
};

/** A second use revokes all refresh tokens of the consent (RFC 6749, 4.1.2; RFC 9700, 4.14). */
function checkGrant<Row extends Omit<RefreshToken, "token">>(
  tx: Transaction,
  { cluster, clock }: ClusterContext,
  clientId: string,
  row: Row | undefined,
  [name, revokedTokens]: readonly [name: string, revoked: string],
): Row | Passthrough {
  if (!row || row.cluster_id !== cluster.id || row.client_id !== clientId)
    return createInvalidGrant(`The ${name} is unknown`);
  if (row.used) {
    for (const { token } of tx.list(refreshTokens, { by: "family", equals: row.family }))
      tx.delete(refreshTokens, token);
    return createInvalidGrant(`The ${name} has already been used; its ${revokedTokens} have been revoked`);
  }
  return row.expires_at <= clock.now() ? createInvalidGrant(`The ${name} has expired`) : row;
}

/** A client that acts for itself has no user. */
function findUserProblem(
  tx: Transaction,
  { cluster }: ClusterContext,
  { user_id }: TokenGrant,
): Passthrough | undefined {
  const isActive = user_id === null || findUserById(tx, cluster.id, user_id) !== undefined;
  return isActive ? undefined : createInvalidGrant("The user is no longer active");
}

/** A verifier without a challenge is rejected: an attacker may have removed the challenge (RFC 9700, 2.1.1). */
function findPkceProblem(challenge: string | null, verifier: string | undefined): Passthrough | undefined {
  if (challenge === null) {
    return verifier === undefined ? undefined : createInvalidGrant("The authorization request had no code_challenge");
  }
  if (verifier === undefined) return createOAuthError("invalid_request", "code_verifier is missing");
  return isEqualInConstantTime(computeCodeChallenge(verifier), challenge)
    ? undefined
    : createInvalidGrant("code_verifier does not match");
}

/** The token is replaced by a new one. A second use indicates a stolen token (RFC 9700, 4.14). */
const redeemRefreshToken: GrantRedeemer = (tx, context, parameters, clientId) => {
  const { refresh_token, scope } = parameters;
  if (refresh_token === undefined) return createOAuthError("invalid_request", "refresh_token is missing");
  const tokenRow = tx.get(refreshTokens, stripPrefix(context, refresh_token));
  const row = checkGrant(tx, context, clientId, tokenRow, ["token", "successors"]);
  if (row instanceof Passthrough) return row;
  const problem = findUserProblem(tx, context, row);
  if (problem) return problem;
  const requestedScope = scope === undefined ? row.scope : filterKnownScope(scope);
  if (!parseOAuthScope(requestedScope).every((word) => parseOAuthScope(row.scope).includes(word))) {
    return createOAuthError("invalid_scope", "The scope exceeds the granted scope");
  }
  tx.put(refreshTokens, { ...row, used: true });
  return { grant: { ...row, scope: requestedScope }, refresh_token: storeRefreshToken(tx, context, row) };
};

const redeemers = lookupTable<GrantRedeemer>({ authorization_code: redeemCode, refresh_token: redeemRefreshToken });

const stripPrefix = ({ cluster }: ClusterContext, token: string): string =>
  token.startsWith(`${cluster.id}_`) ? token.slice(cluster.id.length + 1) : token;
