import { toIsoSeconds } from "../../base/clock.ts";
import type { Client } from "../../client/client.ts";
import { readVirtualTime } from "../../client/virtual-time.ts";
import type { Context } from "../command.ts";
import { CommandFailedError } from "../process/failure.ts";
import { type Account, changeAccount, readAccounts } from "./accounts.ts";
import {
  createOAuthClient,
  createOAuthError,
  type OAuthResponse,
  postOAuth,
  toNonEmptyString,
  toSeconds,
} from "./oauth-call.ts";
import { findServerTime } from "./server-time.ts";

/** Tokens are refreshed this long before their expiry, because requests take time and clocks differ. */
const minRemainingMs = 30_000;

/** Returns the part of an account that a token response provides (RFC 6749, 5.1). */
export function toTokens(
  { fields, headers }: OAuthResponse,
  now: number,
): Pick<
  Account,
  "access_token" | "token_type" | "scope" | "expires_at" | "virtual_time" | "refresh_token" | "id_token"
> {
  const access = toNonEmptyString(fields.access_token);
  if (access === undefined) {
    throw new CommandFailedError("failed", "unreadable_response", "The server returned no access token.", {
      hint: "Check that the address belongs to an OAuth server, not to a web page or a proxy. The stored tokens are unchanged.",
    });
  }
  const type = toNonEmptyString(fields.token_type) ?? "Bearer";
  if (type.toLowerCase() !== "bearer") {
    throw new CommandFailedError(
      "failed",
      "unsupported_token",
      "The server returned a token that is not a bearer token.",
      {
        hint: "Use an OAuth client that gets bearer tokens (RFC 6750).",
      },
    );
  }
  const seconds = toSeconds(fields.expires_in);
  const virtualTime = readVirtualTime(headers);
  return {
    access_token: access,
    token_type: type,
    scope: toNonEmptyString(fields.scope),
    expires_at: seconds === undefined ? undefined : toIsoSeconds((virtualTime ?? now) + seconds * 1_000),
    virtual_time: virtualTime === undefined ? undefined : true,
    refresh_token: toNonEmptyString(fields.refresh_token),
    id_token: toNonEmptyString(fields.id_token),
  };
}

/** An unreadable expiry counts as past, so that the token is refreshed instead of used indefinitely. */
export const hasExpired = ({ expires_at }: Pick<Account, "expires_at">, now: number): boolean =>
  expires_at !== undefined && !(Date.parse(expires_at) - minRemainingMs > now);

const createSignInError = (address: string, reason: string): CommandFailedError =>
  new CommandFailedError("forbidden", "signed_out", `${reason} (${address}).`, { next: ["auth", "device-login"] });

/**
 * Redeems the refresh token under a lock, because a server that rotates tokens signs out a client that uses one twice
 * (DECISIONS.md, L13). If another process has refreshed the token in the meantime, that token is used unless `force` is
 * set.
 */
export async function refreshAccount(context: Context, address: string, force = false): Promise<Account> {
  const before = (await readAccounts(context))[address];
  let rejectedRefresh: CommandFailedError | undefined;
  const account = await changeAccount(context, address, async (now) => {
    if (now === undefined) throw createSignInError(address, "Not signed in");
    const isNew = now.access_token !== before?.access_token;
    if (isNew || (!force && !(await needsRefresh(now, address, context)))) return now;
    if (now.refresh_token === undefined)
      throw createSignInError(address, "The sign-in has expired and cannot be refreshed");
    const response = await redeemRefreshToken(await createOAuthClient(context), now, context.forceSignal);
    if (response.error === "invalid_grant" || response.error === "invalid_token") {
      // The server would reject the same token again.
      rejectedRefresh = createSignInError(address, "The server no longer accepts the refresh token");
      return { ...now, refresh_token: undefined };
    }
    if (response.status !== 200) throw createOAuthError("The refresh", response);
    const wall = context.host.wall.now();
    const { scope, refresh_token, id_token, ...tokens } = toTokens(response, wall);
    return {
      ...now,
      ...tokens,
      // A refresh keeps the fields that its response omits (RFC 6749, 6).
      scope: scope ?? now.scope,
      refresh_token: refresh_token ?? now.refresh_token,
      id_token: id_token ?? now.id_token,
      refreshed_at: toIsoSeconds(wall),
    };
  });
  if (rejectedRefresh) throw rejectedRefresh;
  return account!;
}

/** Ctrl-C does not abort this request at once, because a rotated token is lost without the response. */
const redeemRefreshToken = (client: Client, { refresh_url, refresh_token, client_id }: Account, signal: AbortSignal) =>
  postOAuth(client, refresh_url, "form", { grant_type: "refresh_token", refresh_token, client_id }, signal);

/** Refreshes an expired token. Fails with exit code 4 if there is no sign-in at the address. */
export async function requireValidAccount(context: Context, address: string): Promise<Account> {
  const account = (await readAccounts(context))[address];
  if (account === undefined) throw createSignInError(address, "Not signed in");
  return (await needsRefresh(account, address, context)) ? refreshAccount(context, address) : account;
}

/** An emulator that does not respond cannot refresh the token either. */
async function needsRefresh(account: Account, address: string, context: Context): Promise<boolean> {
  const now = await findServerTime(context, address, account);
  return now !== undefined && hasExpired(account, now);
}

/** Returns the bearer token for the target's routing service: the configured token, or that of a sign-in there. */
export async function findBearerToken(context: Context): Promise<string | undefined> {
  const { baseUrls, credentials } = await context.target("router");
  if (credentials.bearer !== undefined) return credentials.bearer;
  const address = baseUrls.router;
  if (address === undefined || !Object.hasOwn(await readAccounts(context), address)) return undefined;
  return (await requireValidAccount(context, address)).access_token;
}
