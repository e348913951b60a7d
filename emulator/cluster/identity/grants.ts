import * as z from "zod";
import { rows } from "../../store/port.ts";
import { storedDeadline, storedTime } from "../../store/stored-time.ts";

/** Whom tokens are for, and what they allow. */
const granted = {
  cluster_id: z.string(),
  client_id: z.string(),
  /** null: the client itself, where a cluster has no user to stand for. */
  user_id: z.int().nullable(),
  /** Words separated by blanks. */
  scope: z.string(),
  /** When the person signed in; virtual milliseconds, like all times here. */
  signed_in_at: storedTime(z.int()),
  /** All tokens that follow from one consent; they fall together. */
  family: z.string(),
  expires_at: storedDeadline(z.int()),
  used: z.boolean(),
};

/** An authorization code (RFC 6749, 4.1; RFC 7636). Without the prefix of its cluster. */
export const AuthorizationCode = z.strictObject({
  ...granted,
  code: z.string(),
  redirect_uri: z.string(),
  /** null: a confidential client that sent none. */
  code_challenge: z.string().nullable(),
  nonce: z.string().nullable(),
});
export type AuthorizationCode = z.infer<typeof AuthorizationCode>;

/** A refresh token, good for one use. Without the prefix of its cluster. */
export const RefreshToken = z.strictObject({ ...granted, token: z.string() });
export type RefreshToken = z.infer<typeof RefreshToken>;

export const authorizationCodes = rows<AuthorizationCode, "expires_at">({
  name: "authorization_codes",
  version: 2,
  // Version 1 had a challenge in every row.
  migrate: [(row) => row],
  schema: AuthorizationCode,
  key: (row) => row.code,
  indexes: { expires_at: (row) => row.expires_at },
});

export const refreshTokens = rows<RefreshToken, "family" | "expires_at">({
  name: "refresh_tokens",
  schema: RefreshToken,
  key: (row) => row.token,
  indexes: { family: (row) => row.family, expires_at: (row) => row.expires_at },
});

/** Somebody who signed in at a cluster with this browser. */
const Session = z.strictObject({
  id: z.string(),
  cluster_id: z.string(),
  user_id: z.int(),
  signed_in_at: storedTime(z.int()),
  expires_at: storedDeadline(z.int()),
});
export type Session = z.infer<typeof Session>;

export const sessions = rows<Session, "expires_at">({
  name: "sessions",
  schema: Session,
  key: (row) => row.id,
  indexes: { expires_at: (row) => row.expires_at },
});

/** Who approved a device, where the control plane or its page was told (DECISIONS.md, R30). */
export const deviceApprovals = rows<{ readonly device_code: string; readonly user_id: number }>({
  name: "device_approvals",
  schema: z.strictObject({ device_code: z.string(), user_id: z.int() }),
  key: (row) => row.device_code,
  indexes: {},
});

/** The state of a login or a signup with a provider, good for one callback. */
const ProviderState = z.strictObject({
  state: z.string(),
  cluster_id: z.string(),
  provider: z.string(),
  flow: z.enum(["login", "signup"]),
});

export const providerStates = rows<z.infer<typeof ProviderState>>({
  name: "provider_states",
  schema: ProviderState,
  key: (row) => row.state,
  indexes: {},
});
