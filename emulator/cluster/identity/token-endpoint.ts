import { isEqualInConstantTime } from "../../../src/base/hmac.ts";
import { lookupTable } from "../../../src/base/object.ts";
import { computeCodeChallenge } from "../../../src/schemes/http-authorization.ts";
import {
  authenticateClient,
  createBasicChallenge,
  duplicateClientAuthMessage,
} from "../../domain/client-credentials.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import { noStoreHeaders, Passthrough } from "../../http/reply.ts";
import type { Transaction } from "../../store/port.ts";
import type { ClusterContext } from "../context.ts";
import {
  createJsonResponse,
  createOAuthError,
  findRepeatedParameter,
  formatRepeatedParameter,
  type OAuthParameters,
  readOAuthParameters,
} from "../response.ts";
import { authorizationCodes, filterKnownScope, findUserById, parseOAuthScope, refreshTokens } from "./grants.ts";

import { issueTokens, storeRefreshToken, type TokenGrant } from "./tokens.ts";

interface RedeemedGrant {
  readonly granted: TokenGrant;
  readonly refresh_token: string;
}

const createInvalidGrant = (why: string): Passthrough => createOAuthError("invalid_grant", why);

/** Exchanges an authorization code or a refresh token (RFC 6749, 4.1.3 and 6). */
export async function handleTokenRequest(request: ReceivedRequest, context: ClusterContext): Promise<Passthrough> {
  const parameters = readOAuthParameters(request);
  const repeated = findRepeatedParameter(request);
  if (repeated !== undefined) return createOAuthError("invalid_request", formatRepeatedParameter(repeated));
  if (parameters.grant_type === undefined) return createOAuthError("invalid_request", "grant_type is missing");
  const redeem = redeemers[parameters.grant_type];
  if (!redeem)
    return createOAuthError("unsupported_grant_type", "Only authorization_code and refresh_token are supported");
  const client = await context.store.read((view) => authenticateClient(view, request, parameters));
  if (client === "unnamed") return createOAuthError("invalid_request", "client_id is missing");
  if (client === "twice") return createOAuthError("invalid_request", duplicateClientAuthMessage);
  if (client === "unproven") {
    return createOAuthError(
      "invalid_client",
      "The client is unknown, or its secret is wrong",
      createBasicChallenge(request),
      401,
    );
  }

  const redeemed = await context.store.transaction("identity.token", (tx) =>
    redeem(tx, context, parameters, client.client_id),
  );
  if (redeemed instanceof Passthrough) return redeemed;
  const { granted, refresh_token } = redeemed;
  return createJsonResponse(200, { ...(await issueTokens(context, granted)), refresh_token }, noStoreHeaders);
}

type GrantRedeemer = (
  tx: Transaction,
  context: ClusterContext,
  parameters: OAuthParameters,
  clientId: string,
) => Promise<RedeemedGrant | Passthrough>;

const redeemCode: GrantRedeemer = async (tx, context, parameters, clientId) => {
  const missing = ["code", "redirect_uri"].find((name) => parameters[name] === undefined);
  if (missing !== undefined) return createOAuthError("invalid_request", `${missing} is missing`);
  const { code = "", redirect_uri, code_verifier } = parameters;
  const row = await tx.get(authorizationCodes, stripPrefix(context, code));
  if (!row || row.cluster_id !== context.cluster.id || row.client_id !== clientId)
    return createInvalidGrant("The code is unknown");
  if (row.used) {
    await revoke(tx, row.family);
    return createInvalidGrant("The code has already been used; its refresh tokens have been revoked");
  }
  if (row.expires_at <= context.clock.now()) return createInvalidGrant("The code has expired");
  if (row.redirect_uri !== redirect_uri)
    return createInvalidGrant("redirect_uri differs from that of the authorization request");
  const unverified = findPkceProblem(row.code_challenge, code_verifier);
  if (unverified) return unverified;
  if (!(await isForKnownUser(tx, context, row))) return createInvalidGrant("The user is no longer active");
  tx.put(authorizationCodes, { ...row, used: true });
  return { granted: row, refresh_token: await storeRefreshToken(tx, context, row) };
};

/**
 * A verifier without a challenge is also rejected, because an attacker may have removed the challenge (RFC 9700,
 * 2.1.1).
 */
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
const redeemRefreshToken: GrantRedeemer = async (tx, context, parameters, clientId) => {
  const { refresh_token, scope } = parameters;
  if (refresh_token === undefined) return createOAuthError("invalid_request", "refresh_token is missing");
  const row = await tx.get(refreshTokens, stripPrefix(context, refresh_token));
  if (!row || row.cluster_id !== context.cluster.id || row.client_id !== clientId)
    return createInvalidGrant("The token is unknown");
  if (row.used) {
    await revoke(tx, row.family);
    return createInvalidGrant("The token has already been used; its successors have been revoked");
  }
  if (row.expires_at <= context.clock.now()) return createInvalidGrant("The token has expired");
  if (!(await isForKnownUser(tx, context, row))) return createInvalidGrant("The user is no longer active");
  const requested = scope === undefined ? row.scope : filterKnownScope(scope);
  if (!parseOAuthScope(requested).every((word) => parseOAuthScope(row.scope).includes(word))) {
    return createOAuthError("invalid_scope", "The scope exceeds the granted scope");
  }
  tx.put(refreshTokens, { ...row, used: true });
  return { granted: { ...row, scope: requested }, refresh_token: await storeRefreshToken(tx, context, row) };
};

const redeemers = lookupTable<GrantRedeemer>({
  authorization_code: redeemCode,
  refresh_token: redeemRefreshToken,
});

const stripPrefix = ({ cluster }: ClusterContext, token: string): string =>
  token.startsWith(`${cluster.id}_`) ? token.slice(cluster.id.length + 1) : token;

/** Reports whether the person of a grant still exists. A client that acts for itself always does. */
const isForKnownUser = async (
  tx: Transaction,
  { cluster }: ClusterContext,
  { user_id }: TokenGrant,
): Promise<boolean> => user_id === null || (await findUserById(tx, cluster.id, user_id)) !== undefined;

async function revoke(tx: Transaction, family: string): Promise<void> {
  for (const row of await tx.list(refreshTokens, { by: "family", equals: family })) {
    tx.delete(refreshTokens, row.token);
  }
}
