import { calculateJwkThumbprint, importJWK, type JWTPayload, type JWTVerifyOptions, jwtVerify, SignJWT } from "jose";
import { readClusterClaim } from "../../../src/schemes/http-authorization.ts";
import type { Transaction } from "../../store/port.ts";
import { evictOldest } from "../../store/rows.ts";
import type { ClusterContext } from "../context.ts";
import {
  accessTokenLifetimeSeconds,
  buildUserClaims,
  findUserById,
  parseOAuthScope,
  type RefreshToken,
  refreshTokens,
} from "./grants.ts";

import { getSigningKey, type PrivateJwk, signingKeys } from "./signing-keys.ts";

type SigningContext = Pick<ClusterContext, "store" | "cluster" | "settings" | "clock" | "ids">;

const refreshLifetimeMs = 30 * 24 * 60 * 60 * 1_000;
/** Time for which an expired refresh token is reported as expired instead of unknown. */
const expiredRetentionMs = 24 * 60 * 60 * 1_000;

export type TokenGrant = Pick<RefreshToken, "client_id" | "user_id" | "scope" | "signed_in_at" | "family"> & {
  readonly nonce?: string | null;
};

/**
 * Returns the response of RFC 6749, 5.1, without the refresh token, and with an ID token only for the scope `openid`.
 * Times are virtual, and the issuer is the router for every cluster. There is no `nbf`, because real clients would
 * check it against the wall clock (DECISIONS.md, P7).
 */
export async function issueTokens(context: SigningContext, grant: TokenGrant) {
  const { store, cluster, settings, clock, ids } = context;
  const { client_id, user_id, scope, nonce } = grant;
  const user = user_id === null ? undefined : findUserById(store, cluster.id, user_id);
  const now = Math.floor(clock.now() / 1_000);
  const commonClaims = {
    iss: settings.publicUrl,
    // A client without a person acts for itself (RFC 9068, 2.2).
    sub: user_id === null ? client_id : String(user_id),
    cluster: cluster.id,
    iat: now,
    exp: now + accessTokenLifetimeSeconds,
  };
  const accessToken = { ...commonClaims, aud: settings.publicUrl, client_id, scope, jti: ids.uuid() };
  const idToken = {
    ...commonClaims,
    aud: client_id,
    auth_time: Math.floor(grant.signed_in_at / 1_000),
    ...(nonce && { nonce }),
    ...(user && buildUserClaims(user, scope)),
  };
  return {
    access_token: await signToken(context, "at+jwt", accessToken),
    token_type: "Bearer",
    expires_in: accessTokenLifetimeSeconds,
    scope,
    ...(parseOAuthScope(scope).includes("openid") && { id_token: await signToken(context, "JWT", idToken) }),
  };
}

async function signToken(context: SigningContext, typ: string, claims: JWTPayload): Promise<string> {
  const jwk = await getSigningKey(context);
  const kid = await calculateJwkThumbprint(jwk);
  return new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid, typ }).sign(await importJWK(jwk, "RS256"));
}

/** Returns undefined for a token that has expired, was altered, or belongs to another cluster. */
export async function verifyAccessToken(context: SigningContext, token: string): Promise<JWTPayload | undefined> {
  const payload = await verifyToken(await getSigningKey(context), token, {
    typ: "at+jwt",
    issuer: context.settings.publicUrl,
    currentDate: new Date(context.clock.now()),
  });
  return payload?.cluster === context.cluster.id ? payload : undefined;
}

/** Undefined if no cluster of this issuer signed it. It may have expired (OpenID Connect Core, 3.1.2.1). */
export async function verifyIdTokenSubject({ store, settings }: SigningContext, token: string) {
  const cluster = readClusterClaim(token);
  const key = cluster === undefined ? undefined : store.get(signingKeys, cluster);
  if (!key) return undefined;
  const options = { typ: "JWT", issuer: settings.publicUrl, currentDate: new Date(0) };
  return (await verifyToken(key.jwk, token, options))?.sub;
}

async function verifyToken({ kty, n, e }: PrivateJwk, token: string, options: JWTVerifyOptions) {
  try {
    const publicKey = await importJWK({ kty, n, e }, "RS256");
    return (await jwtVerify(token, publicKey, { algorithms: ["RS256"], ...options })).payload;
  } catch {
    return undefined;
  }
}

export async function getPublicJwk(context: SigningContext): Promise<Readonly<Record<string, string>>> {
  const jwk = await getSigningKey(context);
  const { kty, n, e } = jwk;
  return { kty, n, e, kid: await calculateJwkThumbprint(jwk), use: "sig", alg: "RS256" };
}

/** Returns the new token with the prefix of its cluster. */
export function storeRefreshToken(tx: Transaction, { cluster, clock, ids }: SigningContext, grant: TokenGrant) {
  for (const expired of tx.list(refreshTokens, { by: "expires_at", to: clock.now() - expiredRetentionMs })) {
    tx.delete(refreshTokens, expired.token);
  }
  const { client_id, user_id, scope, signed_in_at, family } = grant;
  const token = ids.token(32);
  tx.put(refreshTokens, {
    ...{ client_id, user_id, scope, signed_in_at, family },
    cluster_id: cluster.id,
    token,
    expires_at: clock.now() + refreshLifetimeMs,
    used: false,
  });
  evictOldest(tx, refreshTokens, { slice: { by: "expires_at" } });
  return `${cluster.id}_${token}`;
}
