import { defineDetailFailure, defineOAuthFailure, type Failure } from "../failure.ts";

/** One item of FastAPI's validation error, with its keys in wire order. */
export interface ValidationItem {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input?: unknown;
  readonly ctx?: Readonly<Record<string, unknown>>;
}

export const routerFailures = {
  // Routing: invalid keys, missing mappings and forwarding errors
  validation: {
    status: 422,
    shape: "validation",
    when: "the path, query, headers or body are not as declared",
    basis: "specified",
    body: (items) => ({ detail: items }),
  } satisfies Failure<readonly ValidationItem[]>,
  "unparsable-body": defineDetailFailure({
    status: 400,
    when: "the body is not UTF-8, or is nested too deeply",
    basis: "public",
    says: "There was an error parsing the body",
  }),
  "body-too-large": defineDetailFailure({
    status: 413,
    when: "the body is larger than 64 MiB",
    basis: { assumed: "The specification has no limit. The emulator requires one." },
    says: "Request body is too large",
  }),
  "store-failed": defineDetailFailure({
    status: 503,
    when: "the state cannot be written to disk",
    basis: { assumed: "A service that cannot write responds that it is unavailable." },
    says: "The service cannot write its state",
  }),
  "missing-cluster-key": defineDetailFailure({
    status: 401,
    when: "x-cluster-key is absent and the emulator runs with --strict=keys",
    basis: { assumed: "The header is optional. The meaning of its absence is not specified (DECISIONS.md, R6)." },
    says: "Missing cluster key",
  }),
  "invalid-cluster-key": defineDetailFailure({
    status: 401,
    when: "x-cluster-key is not the key of a cluster",
    basis: { assumed: "The validation of keys is not specified (DECISIONS.md, R6)." },
    says: "Invalid cluster key",
  }),
  "foreign-cluster-key": defineDetailFailure({
    status: 403,
    when: "x-cluster-key does not belong to the cluster of the request",
    basis: { assumed: "The validation of keys is not specified (DECISIONS.md, R6)." },
    says: ({ cluster }: { cluster: string }) => `This cluster key is not of cluster ${cluster}`,
  }),
  "unknown-cluster": defineDetailFailure({
    status: 404,
    when: "the cluster named in the body or the path does not exist",
    basis: { assumed: "The response for an unknown cluster is not specified (DECISIONS.md, R7)." },
    says: ({ cluster }: { cluster: string }) => `Unknown cluster: ${cluster}`,
  }),
  "too-many-clients": defineDetailFailure({
    status: 400,
    when: "10,000 OAuth clients exist",
    basis: { assumed: "A limit of the emulator: creating clients is unauthenticated (DECISIONS.md, E11)." },
    says: "The emulator stores at most 10,000 OAuth clients. To remove created clients, run svc emulator reset.",
  }),
  "client-name-too-long": defineDetailFailure({
    status: 400,
    when: "the name of the client has more than 1,000 characters",
    basis: { assumed: "A limit of the emulator: creating clients is unauthenticated (DECISIONS.md, E11)." },
    says: "The name of a client must be at most 1,000 characters.",
  }),
  "no-email-mapping": defineDetailFailure({
    status: 404,
    when: "the e-mail hash has no cluster mapping",
    basis: { assumed: "The response for a missing mapping is not specified (DECISIONS.md, R8)." },
    says: "No cluster mapping for this email hash",
  }),
  "no-client-mapping": defineDetailFailure({
    status: 404,
    when: "the client ID has no cluster mapping",
    basis: { assumed: "The response for a missing mapping is not specified (DECISIONS.md, R8)." },
    says: "No cluster mapping for this client id",
  }),
  "cluster-unreachable": defineDetailFailure({
    status: 502,
    when: "the owning cluster refuses or closes the connection",
    basis: { assumed: "The usual response of a gateway (DECISIONS.md, R12)." },
    says: ({ cluster }: { cluster: string }) => `Cluster ${cluster} is unreachable`,
  }),
  "no-cluster-reachable": defineDetailFailure({
    status: 502,
    when: "none of the clusters can be reached",
    basis: { assumed: "The usual response of a gateway (DECISIONS.md, R13)." },
    says: "No cluster is reachable",
  }),
  "cluster-timeout": defineDetailFailure({
    status: 504,
    when: "the cluster takes longer than the upstream timeout of 30 s",
    basis: { assumed: "The usual response of a gateway (DECISIONS.md, R12)." },
    says: ({ cluster }: { cluster: string }) => `Cluster ${cluster} did not answer in time`,
  }),
  "forwarding-loop": defineDetailFailure({
    status: 508,
    when: "this router has already forwarded the request: a cluster's URL is the router itself",
    basis: { assumed: "The usual response of a gateway (DECISIONS.md, R12)." },
    says: "The request was forwarded by this router already; a cluster URL points at the router itself",
  }),

  // Connected apps, billing and trial signup
  "unknown-destination": defineDetailFailure({
    status: 404,
    when: "no cluster belongs to the destination",
    basis: { assumed: "The response for an unknown destination is not specified (DECISIONS.md, R15)." },
    says: ({ destination }: { destination: string }) => `Unknown destination: ${destination}`,
  }),
  "bad-chat-a-signature": defineDetailFailure({
    status: 401,
    when: "a signing secret is set, and the signature is missing, wrong or older than 300 s",
    basis: "public",
    says: "Invalid request signature",
  }),
  "bad-chat-b-token": defineDetailFailure({
    status: 401,
    when: "the bot-framework token is missing or invalid",
    basis: "public",
    says: "Invalid bot-framework token",
  }),
  "not-an-activity": defineDetailFailure({
    status: 400,
    when: "the body is not a JSON object",
    basis: "public",
    says: "The activity must be a JSON object",
  }),
  "no-chat-b-mapping": defineDetailFailure({
    status: 404,
    when: "the tenant of the activity has no cluster mapping",
    basis: { assumed: "The response for an unmapped tenant is not specified (DECISIONS.md, R22)." },
    says: "No cluster mapping for this tenant",
  }),
  "bad-crm-a-signature": defineDetailFailure({
    status: 401,
    when: "the signature is missing, wrong, stale, or of a version that --strict=signatures rejects",
    basis: "public",
    says: "Invalid request signature",
  }),
  "bad-signed-request": defineDetailFailure({
    status: 401,
    when: "the signed request is malformed, or its signature is wrong",
    basis: "public",
    says: "Invalid signed request",
  }),
  "index-url-not-allowed": defineDetailFailure({
    status: 400,
    when: "the origin of index_url_override is not on the seed's allow-list",
    basis: { assumed: "The allowed overrides are not specified (DECISIONS.md, R28)." },
    says: "index_url_override is not an allowed origin",
  }),
  "captcha-failed": defineDetailFailure({
    status: 400,
    when: "the captcha is not accepted",
    basis: { assumed: "The response for a wrong captcha is not specified (DECISIONS.md, R23)." },
    says: 'Captcha verification failed (the word "fail" always fails)',
  }),
  "account-exists": defineDetailFailure({
    status: 400,
    when: "the e-mail is mapped to a cluster, or belongs to a user of a workspace",
    basis: { assumed: "The response for a second signup is not specified (DECISIONS.md, R23)." },
    says: "An account with this e-mail exists",
  }),
  "unknown-signup-token": defineDetailFailure({
    status: 404,
    when: "the signup token is unknown or used",
    basis: { assumed: "The response for an unknown token is not specified (DECISIONS.md, R24)." },
    says: "Unknown or used signup token",
  }),
  "unknown-cluster-location": defineDetailFailure({
    status: 400,
    when: "cluster_location is not the ID, label or region of a cluster",
    basis: { assumed: "The response for an unknown location is not specified (DECISIONS.md, R24)." },
    says: ({ location }: { location: string }) => `Unknown cluster location: ${location}`,
  }),
  "unknown-state": defineDetailFailure({
    status: 400,
    when: "the OAuth state was not issued here, or was used",
    basis: { assumed: "The response for an unknown state is not specified (DECISIONS.md, R25)." },
    says: "Unknown or used state",
  }),
  "unknown-provider-code": defineDetailFailure({
    status: 400,
    when: "the provider did not issue the code, or it was used",
    basis: { assumed: "The response for a rejected code is not specified (DECISIONS.md, R25)." },
    says: "Unknown or used code",
  }),
  "not-authenticated": defineDetailFailure({
    status: 401,
    when: "the basic credentials are missing, malformed or wrong",
    basis: "public",
    says: "Not authenticated",
    headers: () => ({ "www-authenticate": "Basic" }),
  }),
  "no-customer-id": defineDetailFailure({
    status: 400,
    when: "the event has no customer ID of the form {cluster_id}_{workspace_id}",
    basis: "specified",
    says: "No customer id in the event",
  }),

  // The device grant, the token endpoints and userinfo
  "authorization-pending": defineOAuthFailure({
    when: "the user code is not yet approved or denied",
    basis: "public",
    error: "authorization_pending",
  }),
  "slow-down": defineOAuthFailure({
    when: "the client polls faster than the interval allows; the interval grows by 5 s permanently",
    basis: "public",
    error: "slow_down",
  }),
  "access-denied": defineOAuthFailure({
    when: "the person denied the request",
    basis: "public",
    error: "access_denied",
  }),
  "expired-token": defineOAuthFailure({ when: "the device code has expired", basis: "public", error: "expired_token" }),
  "invalid-grant": defineOAuthFailure({
    when: "the code or token is unknown, was used before, belongs to another client, or has no known cluster prefix",
    basis: "public",
    error: "invalid_grant",
  }),
  "invalid-client": defineOAuthFailure({ when: "the client is unknown", basis: "public", error: "invalid_client" }),
  "unproven-client": defineOAuthFailure({
    status: 401,
    when: "the client of a device code is unknown, or its secret is wrong",
    basis: "public",
    error: "invalid_client",
    headers: (challenge: Readonly<Record<string, string>>) => challenge,
  }),
  "invalid-request": defineOAuthFailure({
    when: "a parameter is missing, not a string or repeated, or the client authenticates twice",
    basis: "public",
    error: "invalid_request",
    says: ({ reason }: { reason: string }) => reason,
  }),
  "unsupported-grant-type": defineOAuthFailure({
    when: "grant_type is not authorization_code, refresh_token or the device grant type",
    basis: "public",
    error: "unsupported_grant_type",
  }),
  "token-cluster-down": defineOAuthFailure({
    status: 503,
    when: "the cluster that issues the tokens cannot be reached; the device code remains valid",
    basis: { assumed: "Standard clients wait and poll again after a 503 with retry-after (DECISIONS.md, R30)." },
    error: "temporarily_unavailable",
    headers: () => ({ "retry-after": "5" }),
  }),
  "unknown-user-code": defineDetailFailure({
    status: 404,
    when: "the user code is unknown",
    basis: { assumed: "The response for an unknown code is not specified (DECISIONS.md, R30)." },
    says: "Unknown user code",
  }),
  "expired-user-code": defineDetailFailure({
    status: 400,
    when: "the user code has expired",
    basis: { assumed: "The response for an expired code is not specified (DECISIONS.md, R30)." },
    says: "The user code has expired",
  }),
  "already-decided": defineDetailFailure({
    status: 409,
    when: "the grant was already decided, differently or by another cluster",
    basis: { assumed: "The transitions are not specified (DECISIONS.md, R30)." },
    says: "The device grant has been decided already",
  }),
  "grant-bound": defineDetailFailure({
    status: 409,
    when: "another cluster bound the grant to itself with PENDING",
    basis: { assumed: "The transitions are not specified (DECISIONS.md, R30)." },
    says: "The device grant is bound to another cluster",
  }),
  // A response to a request without a token has no error code (RFC 6750, 3.1).
  "no-access-token": defineDetailFailure({
    status: 401,
    when: "no access token is sent",
    basis: "public",
    says: "Not authenticated",
    headers: () => ({ "www-authenticate": 'Bearer realm="oauth"' }),
  }),
  "invalid-token": defineDetailFailure({
    status: 401,
    when: "the access token is not a JWT with the cluster claim of a known cluster",
    basis: { assumed: "The response for an undecodable token is not specified (DECISIONS.md, R36)." },
    says: "Invalid access token",
    headers: () => ({ "www-authenticate": 'Bearer error="invalid_token"' }),
  }),
  "refused-token": defineOAuthFailure({
    status: 401,
    when: "the access token is altered or expired, or its user is no longer active",
    basis: "public",
    error: "invalid_token",
    says: "The access token is altered or expired, or its user is no longer active",
    headers: () => ({ "www-authenticate": 'Bearer error="invalid_token"' }),
  }),
};

/** Failures of an operation whose request goes to one cluster (DECISIONS.md, R12). */
export const singleClusterFailures = ["cluster-unreachable", "cluster-timeout", "forwarding-loop"] as const;

/**
 * Failures of an operation whose request goes to several clusters. The first usable response counts (DECISIONS.md,
 * R13).
 */
export const forwardingToAll = ["no-cluster-reachable", "cluster-timeout", "forwarding-loop"] as const;

/**
 * Failures of an operation whose request goes to the owning cluster, or to all clusters if no cluster owns the
 * identifier.
 */
export const forwarding = [
  "cluster-unreachable",
  "no-cluster-reachable",
  "cluster-timeout",
  "forwarding-loop",
] as const satisfies readonly (typeof singleClusterFailures | typeof forwardingToAll)[number][];
