import * as z from "zod";
import { toAddressKey } from "../../../src/base/email-address.ts";
import { getFirstWorkspace, type User, users, workspaces } from "../../domain/workspaces.ts";
import { defineRows, storedDeadline, storedTime, type View } from "../../store/port.ts";

const grantFields = {
  cluster_id: z.string(),
  client_id: z.string(),
  /** Null for the client itself, if the cluster has no user for it. */
  user_id: z.int().nullable(),
  scope: z.string(),
  /** Time of the sign-in, in virtual milliseconds. */
  signed_in_at: storedTime(z.int()),
  /** Identifies the tokens of one consent, which are revoked together. */
  family: z.string(),
  expires_at: storedDeadline(z.int()),
  used: z.boolean(),
};

/** An authorization code (RFC 6749, 4.1; RFC 7636), without the prefix of its cluster. */
const AuthorizationCode = z.strictObject({
  ...grantFields,
  code: z.string(),
  redirect_uri: z.string(),
  /** Null if a confidential client sent no challenge. */
  code_challenge: z.string().nullable(),
  nonce: z.string().nullable(),
});

/** A single-use refresh token, without the prefix of its cluster. */
export const RefreshToken = z.strictObject({ ...grantFields, token: z.string() });
export type RefreshToken = z.infer<typeof RefreshToken>;

export const authorizationCodes = defineRows({
  name: "authorization_codes",
  schema: AuthorizationCode,
  key: (row) => row.code,
  indexes: { expires_at: (row) => row.expires_at },
});

export const refreshTokens = defineRows({
  name: "refresh_tokens",
  schema: RefreshToken,
  key: (row) => row.token,
  indexes: { family: (row) => row.family, expires_at: (row) => row.expires_at },
});

export const signInSessions = defineRows({
  name: "sessions",
  schema: z.strictObject({
    id: z.string(),
    cluster_id: z.string(),
    user_id: z.int(),
    signed_in_at: storedTime(z.int()),
    expires_at: storedDeadline(z.int()),
  }),
  key: (row) => row.id,
  indexes: { expires_at: (row) => row.expires_at },
});

/** Approvers of devices, for grants whose approver the control plane or its page named (DECISIONS.md, R30). */
export const deviceApprovals = defineRows({
  name: "device_approvals",
  schema: z.strictObject({ device_code: z.string(), user_id: z.int() }),
  key: (row) => row.device_code,
});

/** The state of a login or a signup with a provider, valid for one callback. */
export const providerStates = defineRows({
  name: "provider_states",
  schema: z.strictObject({
    state: z.string(),
    cluster_id: z.string(),
    provider: z.string(),
    flow: z.enum(["login", "signup"]),
  }),
  key: (row) => row.state,
});

/** Lifetime of access and ID tokens, in seconds of virtual time. */
export const accessTokenLifetimeSeconds = 3_600;

/** Returns the active users of a cluster with that address, one for each workspace. */
export function listUsersByEmail(view: View, clusterId: string, email: string): readonly User[] {
  const matches = view.list(users, { by: "email", equals: toAddressKey(email) });
  return matches.filter((user) => user.is_active && isUserOfCluster(view, clusterId, user));
}

export const findUserByEmail = (view: View, clusterId: string, email: string): User | undefined =>
  listUsersByEmail(view, clusterId, email)[0];

export function findUserById(view: View, clusterId: string, id: number): User | undefined {
  const user = view.get(users, id);
  return user?.is_active && isUserOfCluster(view, clusterId, user) ? user : undefined;
}

/** Returns the default user of a cluster, for whom the API key of its first workspace acts. */
export function getFirstUser(view: View, clusterId: string): User | undefined {
  const workspace = getFirstWorkspace(view, clusterId);
  return workspace && findUserById(view, clusterId, workspace.acting_user_id);
}

function isUserOfCluster(view: View, clusterId: string, user: User): boolean {
  return view.get(workspaces, user.workspace_id)?.cluster_id === clusterId;
}

/** Scopes that a client can request (OpenID Connect Core, 5.4 and 11). */
export const supportedScopes = ["openid", "profile", "email", "offline_access"];

/** Default scope, which is also the default for a device (specification, DeviceGrantTokenCreateRequest). */
export const defaultOAuthScope = "openid profile email";

export const parseOAuthScope = (scope: string): string[] => scope.split(" ").filter((word) => word !== "");

/** Removes unknown words from a scope, which are ignored (OpenID Connect Core, 3.1.2.1). */
export const filterKnownScope = (scope: string): string =>
  parseOAuthScope(scope)
    .filter((word) => supportedScopes.includes(word))
    .join(" ");

export const findUnknownScopes = (scope: string): string[] =>
  parseOAuthScope(scope).filter((word) => !supportedScopes.includes(word));

export function buildUserClaims(user: User, scope: string): Readonly<Record<string, unknown>> {
  const scopes = parseOAuthScope(scope);
  return {
    ...(scopes.includes("profile") && { name: user.name }),
    ...(scopes.includes("email") && { email: user.email, email_verified: true }),
  };
}
