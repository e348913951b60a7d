import { assumed } from "../../basis.ts";
import { detail, oauth } from "../../failure.ts";

/** What the device grant, the token endpoints and userinfo may refuse with. */
export const oauthFailures = {
  "authorization-pending": oauth({
    status: 400,
    when: "the user code is not yet approved or denied",
    basis: "public",
    error: "authorization_pending",
  }),
  "slow-down": oauth({
    status: 400,
    when: "the client polls faster than the interval allows; the interval grows by 5 s permanently",
    basis: "public",
    error: "slow_down",
  }),
  "access-denied": oauth({
    status: 400,
    when: "the person denied the request",
    basis: "public",
    error: "access_denied",
  }),
  "expired-token": oauth({
    status: 400,
    when: "the device code has expired",
    basis: "public",
    error: "expired_token",
  }),
  "invalid-grant": oauth({
    status: 400,
    when: "the code or token is unknown, used, of another client, or has no known cluster prefix",
    basis: "public",
    error: "invalid_grant",
  }),
  "invalid-client": oauth({
    status: 400,
    when: "the client is unknown",
    basis: "public",
    error: "invalid_client",
  }),
  "unproven-client": oauth({
    status: 401,
    when: "the client of a device code is unknown, or its secret is wrong",
    basis: "public",
    error: "invalid_client",
    headers: (challenge: Readonly<Record<string, string>>) => challenge,
  }),
  "invalid-request": oauth({
    status: 400,
    when: "a parameter is missing, not a string or repeated, or the client authenticates twice",
    basis: "public",
    error: "invalid_request",
    says: ({ reason }: { reason: string }) => reason,
  }),
  "unsupported-grant-type": oauth({
    status: 400,
    when: "grant_type is not authorization_code, refresh_token or that of a device",
    basis: "public",
    error: "unsupported_grant_type",
  }),
  "token-cluster-down": oauth({
    status: 503,
    when: "the cluster that issues the tokens cannot be reached; the device code remains valid",
    basis: assumed("Standard clients wait and poll again after a 503 with retry-after (DECISIONS.md, R30)."),
    error: "temporarily_unavailable",
    headers: () => ({ "retry-after": "5" }),
  }),
  "unknown-user-code": detail({
    status: 404,
    when: "the user code is unknown",
    basis: assumed("The response for an unknown code is not specified (DECISIONS.md, R30)."),
    says: "Unknown user code",
  }),
  "expired-user-code": detail({
    status: 400,
    when: "the user code has expired",
    basis: assumed("The response for an expired code is not specified (DECISIONS.md, R30)."),
    says: "The user code has expired",
  }),
  "already-decided": detail({
    status: 409,
    when: "the grant was already decided, differently or by another cluster",
    basis: assumed("The transitions are not specified (DECISIONS.md, R30)."),
    says: "The device grant has been decided already",
  }),
  "grant-bound": detail({
    status: 409,
    when: "another cluster bound the grant to itself with PENDING",
    basis: assumed("The transitions are not specified (DECISIONS.md, R30)."),
    says: "The device grant is bound to another cluster",
  }),
  // Without a token there is nothing wrong with one: no error is named (RFC 6750, 3.1).
  "no-access-token": detail({
    status: 401,
    when: "no access token is sent",
    basis: "public",
    says: "Not authenticated",
    headers: () => ({ "www-authenticate": 'Bearer realm="oauth"' }),
  }),
  "invalid-token": detail({
    status: 401,
    when: "the access token is not a JWT with the cluster claim of a known cluster",
    basis: assumed("The response for an undecodable token is not specified (DECISIONS.md, R36)."),
    says: "Invalid access token",
    headers: () => ({ "www-authenticate": 'Bearer error="invalid_token"' }),
  }),
  "refused-token": oauth({
    status: 401,
    when: "the access token is altered or expired, or its user is no longer active",
    basis: "public",
    error: "invalid_token",
    says: "The access token is altered or expired, or its user is no longer active",
    headers: () => ({ "www-authenticate": 'Bearer error="invalid_token"' }),
  }),
};
