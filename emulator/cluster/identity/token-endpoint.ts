import { sameSecret } from "../../../src/base/hmac.ts";
import { lookupTable } from "../../../src/base/lookup-table.ts";
import { codeChallenge } from "../../../src/schemes/pkce.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import { Passthrough, uncached } from "../../http/reply.ts";
import type { Transaction } from "../../store/port.ts";
import { basicChallenge, clientOf, provenTwice } from "../../world/client-credentials.ts";
import { givenTwice, json, oauthError, type Parameters, parametersOf, repeatedIn } from "../answer.ts";

import type { ClusterWorld } from "../world.ts";
import { authorizationCodes, knownScope, refreshTokens, userOfId, wordsOf } from "./grants.ts";

import { type Granted, issueTokens, keepRefreshToken } from "./tokens.ts";

interface Redeemed {
  readonly granted: Granted;
  readonly refresh_token: string;
}

const invalid = (why: string): Passthrough => oauthError("invalid_grant", why);

/** Exchanges an authorization code or a refresh token (RFC 6749, 4.1.3 and 6). */
export async function tokenEndpoint(request: ReceivedRequest, world: ClusterWorld): Promise<Passthrough> {
  const parameters = parametersOf(request);
  const repeated = repeatedIn(request);
  if (repeated !== undefined) return oauthError("invalid_request", givenTwice(repeated));
  if (parameters.grant_type === undefined) return oauthError("invalid_request", "grant_type is missing");
  const redeem = redeemers[parameters.grant_type];
  if (!redeem) return oauthError("unsupported_grant_type", "Only authorization_code and refresh_token are supported");
  const client = await world.store.read((view) => clientOf(view, request, parameters));
  if (client === "unnamed") return oauthError("invalid_request", "client_id is missing");
  if (client === "twice") return oauthError("invalid_request", provenTwice);
  if (client === "unproven") {
    return oauthError("invalid_client", "The client is unknown, or its secret is wrong", basicChallenge(request), 401);
  }

  const redeemed = await world.store.transaction("identity.token", (tx) =>
    redeem(tx, world, parameters, client.client_id),
  );
  if (redeemed instanceof Passthrough) return redeemed;
  const { granted, refresh_token } = redeemed;
  return json(200, { ...(await issueTokens(world, granted)), refresh_token }, uncached);
}

type Redeem = (
  tx: Transaction,
  world: ClusterWorld,
  parameters: Parameters,
  clientId: string,
) => Promise<Redeemed | Passthrough>;

const redeemCode: Redeem = async (tx, world, parameters, clientId) => {
  const missing = ["code", "redirect_uri"].find((name) => parameters[name] === undefined);
  if (missing !== undefined) return oauthError("invalid_request", `${missing} is missing`);
  const { code = "", redirect_uri, code_verifier } = parameters;
  const row = await tx.get(authorizationCodes, withoutPrefix(world, code));
  if (!row || row.cluster_id !== world.cluster.id || row.client_id !== clientId) return invalid("The code is unknown");
  if (row.used) {
    await revoke(tx, row.family);
    return invalid("The code was used before; its refresh tokens are revoked");
  }
  if (row.expires_at <= world.clock.now()) return invalid("The code has expired");
  if (row.redirect_uri !== redirect_uri) return invalid("redirect_uri is not that of the authorization request");
  const unverified = pkceProblem(row.code_challenge, code_verifier);
  if (unverified) return unverified;
  if (!(await standsFor(tx, world, row))) return invalid("The user is not active any more");
  tx.put(authorizationCodes, { ...row, used: true });
  return { granted: row, refresh_token: await keepRefreshToken(tx, world, row) };
};

/** A verifier without a challenge is refused, too: somebody may have taken the challenge away (RFC 9700, 2.1.1). */
function pkceProblem(challenge: string | null, verifier: string | undefined): Passthrough | undefined {
  if (challenge === null) {
    return verifier === undefined ? undefined : invalid("The authorization request had no code_challenge");
  }
  if (verifier === undefined) return oauthError("invalid_request", "code_verifier is missing");
  return sameSecret(codeChallenge(verifier), challenge) ? undefined : invalid("code_verifier does not match");
}

/** The token is exchanged for a new one; whoever shows it again has stolen it, or was stolen from (RFC 9700, 4.14). */
const redeemRefreshToken: Redeem = async (tx, world, parameters, clientId) => {
  const { refresh_token, scope } = parameters;
  if (refresh_token === undefined) return oauthError("invalid_request", "refresh_token is missing");
  const row = await tx.get(refreshTokens, withoutPrefix(world, refresh_token));
  if (!row || row.cluster_id !== world.cluster.id || row.client_id !== clientId) return invalid("The token is unknown");
  if (row.used) {
    await revoke(tx, row.family);
    return invalid("The token was used before; all refresh tokens that came of it are revoked");
  }
  if (row.expires_at <= world.clock.now()) return invalid("The token has expired");
  if (!(await standsFor(tx, world, row))) return invalid("The user is not active any more");
  const requested = scope === undefined ? row.scope : knownScope(scope);
  if (!wordsOf(requested).every((word) => wordsOf(row.scope).includes(word))) {
    return oauthError("invalid_scope", "The scope is wider than the one that was granted");
  }
  tx.put(refreshTokens, { ...row, used: true });
  return { granted: { ...row, scope: requested }, refresh_token: await keepRefreshToken(tx, world, row) };
};

const redeemers = lookupTable<Redeem>({
  authorization_code: redeemCode,
  refresh_token: redeemRefreshToken,
});

const withoutPrefix = ({ cluster }: ClusterWorld, token: string): string =>
  token.startsWith(`${cluster.id}_`) ? token.slice(cluster.id.length + 1) : token;

/** Whether the person still exists for whom a grant stands; a client that acts for itself always does. */
const standsFor = async (tx: Transaction, { cluster }: ClusterWorld, { user_id }: Granted): Promise<boolean> =>
  user_id === null || (await userOfId(tx, cluster.id, user_id)) !== undefined;

async function revoke(tx: Transaction, family: string): Promise<void> {
  for (const row of await tx.list(refreshTokens, { by: "family", equals: family })) {
    tx.delete(refreshTokens, row.token);
  }
}
