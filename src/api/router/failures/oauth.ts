import { assumed } from "../../basis.ts";
import { detail, oauth } from "../../failure.ts";

/** What the device grant, the token endpoints and userinfo may refuse with. */
export const oauthFailures = {
  "authorization-pending": oauth({
    status: 400,
    when: "nobody has decided about the user code yet",
    basis: "public",
    error: "authorization_pending",
  }),
  "slow-down": oauth({
    status: 400,
    when: "the client polls earlier than the interval allows; the interval grows by 5 s for good",
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
    when: "a parameter of the request is missing, is no text or is given more than once, or the client proves itself twice",
    basis: "public",
    error: "invalid_request",
    says: ({ reason }: { reason: string }) => reason,
  }),
  "unsupported-grant-type": oauth({
    status: 400,
    when: "grant_type is neither authorization_code, refresh_token nor that of a device",
    basis: "public",
    error: "unsupported_grant_type",
  }),
  "token-cluster-down": oauth({
    status: 503,
    when: "the cluster that issues the tokens cannot be reached; the device code stays good",
    basis: assumed("Standard clients wait and poll again after a 503 with retry-after (DECISIONS.md, R30)."),
    error: "temporarily_unavailable",
    headers: () => ({ "retry-after": "5" }),
  }),
  "unknown-user-code": detail({
    status: 404,
    when: "the user code is unknown",
    basis: assumed("What an unknown code answers is not shown (DECISIONS.md, R30)."),
    says: "Unknown user code",
  }),
  "expired-user-code": detail({
    status: 400,
    when: "the user code has expired",
    basis: assumed("What an expired code answers is not shown (DECISIONS.md, R30)."),
    says: "The user code has expired",
  }),
  "already-decided": detail({
    status: 409,
    when: "the grant was decided before, differently or by another cluster",
    basis: assumed("The transitions are not shown (DECISIONS.md, R30)."),
    says: "The device grant has been decided already",
  }),
  "grant-bound": detail({
    status: 409,
    when: "another cluster bound the grant to itself with PENDING",
    basis: assumed("The transitions are not shown (DECISIONS.md, R30)."),
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
    when: "the access token is no JWT whose cluster claim names a known cluster",
    basis: assumed("What an undecodable token answers is not shown (DECISIONS.md, R36)."),
    says: "Invalid access token",
    headers: () => ({ "www-authenticate": 'Bearer error="invalid_token"' }),
  }),
  "refused-token": oauth({
    status: 401,
    when: "the cluster finds the access token altered, expired, or of somebody who is gone",
    basis: "public",
    error: "invalid_token",
    says: "The access token is altered, expired, or of somebody who is gone",
    headers: () => ({ "www-authenticate": 'Bearer error="invalid_token"' }),
  }),
};
