import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { toIsoSeconds } from "../../base/clock.ts";
import { isObject } from "../../base/object.ts";
import { toNonEmptyString } from "../../base/text.ts";
import { readVirtualTime } from "../../client/response.ts";
import { isFsError } from "../../files/disk.ts";
import { makeFolder } from "../../files/folders.ts";
import type { Context } from "../command.ts";
import { changePrivateFile, createUnwritableError, readPrivateFile } from "../connection/profiles/private-file.ts";
import type { SettingValue } from "../connection/resolve-settings.ts";
import { getConfigFolder, hasConfigFolder } from "../process/environment.ts";
import { CommandFailedError, UsageError } from "../process/failure.ts";
import {
  createOAuthClient,
  createOAuthError,
  type OAuthResponse,
  postOAuth,
  resolveServerAddress,
  toSeconds,
} from "./oauth-call.ts";

/** Credentials of a sign-in, stored by the address of the issuing server. Only that server receives them. */
export interface Account {
  readonly client_id: string;
  readonly access_token: string;
  readonly token_type: string;
  readonly scope?: string | undefined;
  /** ISO 8601, in the server's time. Absent if the server omits the expiry. */
  readonly expires_at?: string | undefined;
  /** True for the tokens of an emulator, which expire in its virtual time. */
  readonly virtual_time?: boolean | undefined;
  readonly signed_in_at: string;
  readonly refreshed_at?: string | undefined;
  readonly refresh_token?: string | undefined;
  readonly id_token?: string | undefined;
  readonly refresh_url: string;
  /** Endpoint that revokes tokens (RFC 7009). Absent if the server has none. */
  readonly revocation_url?: string | undefined;
}

interface TokenFile {
  readonly accounts?: Readonly<Record<string, Account>>;
}

export const getTokensPath = ({ host: { env } }: Pick<Context, "host">): string =>
  join(getConfigFolder(env), "tokens.json");

export async function readAccounts(context: Pick<Context, "host">): Promise<NonNullable<TokenFile["accounts"]>> {
  if (!hasConfigFolder(context.host.env)) return {};
  return (await readPrivateFile<TokenFile>(getTokensPath(context), checkAccounts))?.accounts ?? {};
}

function checkAccounts({ accounts = {} }: Readonly<Record<string, unknown>>): string | undefined {
  if (!isObject(accounts)) return "accounts must be an object";
  const isAccount = (value: unknown) =>
    isObject(value) && requiredAccountFields.every((name) => typeof value[name] === "string");
  const invalidAccount = Object.entries(accounts).find(([, account]) => !isAccount(account));
  return (
    invalidAccount && `the account of ${invalidAccount[0]} must be an object with ${requiredAccountFields.join(", ")}`
  );
}

const requiredAccountFields = ["client_id", "access_token", "refresh_url"];

/** Changes an account under a lock. `undefined` as the result of the change removes the account. */
export async function changeAccount(
  context: Pick<Context, "host" | "signal">,
  address: string,
  change: (account: Account | undefined) => Account | undefined | Promise<Account | undefined>,
): Promise<Account | undefined> {
  const path = getTokensPath(context);
  const { accounts } = await changePrivateFile<TokenFile>(context, path, checkAccounts, async (content) => {
    const { [address]: before, ...otherAccounts } = content?.accounts ?? {};
    const account = await change(before);
    return { ...content, accounts: { ...otherAccounts, ...(account && { [address]: account }) } };
  });
  return accounts?.[address];
}

/** Throws CommandFailedError before the user approves a device whose tokens cannot be stored. */
export async function requireWritableTokens({ host: { env } }: Pick<Context, "host">): Promise<void> {
  const folder = getConfigFolder(env);
  try {
    await makeFolder(folder);
    await access(folder, constants.W_OK);
  } catch (cause) {
    throw isFsError(cause) ? createUnwritableError(`to ${folder}`, cause) : cause;
  }
}

/** Selects the account of --issuer, of the target's routing service, or the only stored account. */
export async function resolveAccountAddress(issuer: string | undefined, context: Context): Promise<string> {
  if (issuer !== undefined) return resolveServerAddress(issuer, context);
  const names = Object.keys(await readAccounts(context));
  try {
    return await resolveServerAddress(undefined, context);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof CommandFailedError)) throw error;
    if (names.length === 1) return names[0]!;
    if (names.length === 0) {
      throw new CommandFailedError("forbidden", "signed_out", "Not signed in.", { next: ["auth", "device-login"] });
    }
    throw new UsageError("Several accounts are signed in, and none is selected.", {
      hint: `Select one with --issuer or --base-url: ${names.join(", ")}`,
    });
  }
}

/** Tokens are refreshed this long before their expiry, because requests take time and clocks differ. */
const minRemainingMs = 30_000;

/** Returns the part of an account that a token response provides (RFC 6749, 5.1). */
export function toTokens({ fields, headers }: OAuthResponse, now: number) {
  const access = toNonEmptyString(fields.access_token);
  if (access === undefined) {
    throw new CommandFailedError("failed", "unreadable_response", "The server returned no access token.", {
      hint: "Check that the address belongs to an OAuth server, not to a web page or a proxy. The stored tokens are unchanged.",
    });
  }
  if (!/^[\x21-\x7e]+$/.test(access)) {
    const message = "The server returned an access token that cannot be sent in a header.";
    throw new CommandFailedError("failed", "unsupported_token", message, {
      hint: "It contains spaces, line breaks or other characters that are not allowed in a bearer token (RFC 6750, 2.1). The stored tokens are unchanged.",
    });
  }
  const type = toNonEmptyString(fields.token_type) ?? "Bearer";
  if (type.toLowerCase() !== "bearer") {
    const message = "The server returned a token that is not a bearer token.";
    throw new CommandFailedError("failed", "unsupported_token", message, {
      hint: "Use an OAuth client that gets bearer tokens (RFC 6750).",
    });
  }
  const seconds = toSeconds(fields.expires_in);
  const virtualTime = readVirtualTime(headers);
  return {
    access_token: access,
    token_type: type,
    scope: toNonEmptyString(fields.scope),
    expires_at: seconds === undefined ? undefined : toIsoSeconds((virtualTime ?? now) + seconds * 1_000),
    virtual_time: virtualTime === undefined ? undefined : (true as const),
    refresh_token: toNonEmptyString(fields.refresh_token),
    id_token: toNonEmptyString(fields.id_token),
  };
}

/** An unreadable expiry counts as past, so that the token is refreshed instead of used indefinitely. */
export const hasExpired = ({ expires_at }: Pick<Account, "expires_at">, now: number): boolean =>
  expires_at !== undefined && !(Date.parse(expires_at) - minRemainingMs > now);

/** Returns the command that signs in at a server, which need not be the target's routing service. */
export async function getSignInCommand(address: string, context: Context, clientId = ""): Promise<readonly string[]> {
  const router = await resolveServerAddress(undefined, context).catch(() => undefined);
  const issuer = address === router ? [] : ["--issuer", address];
  return ["auth", "device-login", ...issuer, ...(clientId === "" ? [] : ["--client-id", clientId])];
}

const createSignInError = async (context: Context, address: string, reason: string, account?: Account) =>
  new CommandFailedError("forbidden", "signed_out", `${reason} (${address}).`, {
    next: await getSignInCommand(address, context, account?.client_id),
  });

/**
 * Redeems the refresh token under a lock, because a server that rotates tokens signs out a client that uses one twice
 * (DECISIONS.md, L13). If another process has refreshed the token in the meantime, that token is used unless `force` is
 * set.
 */
export async function refreshAccount(context: Context, address: string, force = false): Promise<Account> {
  const before = (await readAccounts(context))[address];
  let rejectedRefresh: CommandFailedError | undefined;
  const account = await changeAccount(context, address, async (now) => {
    if (now === undefined) throw await createSignInError(context, address, "Not signed in");
    const isNew = now.access_token !== before?.access_token;
    if (isNew || (!force && !(await needsRefresh(now, address, context)))) return now;
    if (now.refresh_token === undefined)
      throw await createSignInError(context, address, "The sign-in has expired and cannot be refreshed", now);
    const { refresh_token, client_id } = now;
    const fields = { grant_type: "refresh_token", refresh_token, client_id };
    // Ctrl-C does not abort this request at once, because a rotated token is lost without the response.
    const client = await createOAuthClient(context);
    const response = await postOAuth(client, now.refresh_url, "form", fields, context.forceSignal);
    if (response.error === "invalid_grant" || response.error === "invalid_token") {
      // The server would reject the same token again.
      rejectedRefresh = await createSignInError(
        context,
        address,
        "The server no longer accepts the refresh token",
        now,
      );
      return { ...now, refresh_token: undefined };
    }
    if (response.status !== 200) throw createOAuthError("The refresh", response);
    const wall = context.host.wall.now();
    const tokens = toTokens(response, wall);
    // A refresh keeps the fields that its response omits (RFC 6749, 6).
    const { scope = now.scope, refresh_token: next = refresh_token, id_token = now.id_token } = tokens;
    return { ...now, ...tokens, scope, refresh_token: next, id_token, refreshed_at: toIsoSeconds(wall) };
  });
  if (rejectedRefresh) throw rejectedRefresh;
  return account!;
}

/** Refreshes an expired token. Fails with exit code 4 if there is no sign-in at the address. */
export async function requireValidAccount(context: Context, address: string): Promise<Account> {
  const account = (await readAccounts(context))[address];
  if (account === undefined) throw await createSignInError(context, address, "Not signed in");
  return (await needsRefresh(account, address, context)) ? refreshAccount(context, address) : account;
}

/** An emulator that does not respond cannot refresh the token either. */
async function needsRefresh(account: Account, address: string, context: Context): Promise<boolean> {
  const now = await findServerTime(context, address, account);
  return now !== undefined && hasExpired(account, now);
}

export const tokenVariable = "SVC_TOKEN";

/** Names a token that overrides every sign-in, with its source. */
export const describeToken = ({ origin }: SettingValue): string =>
  origin === tokenVariable ? origin : `The token of ${origin}`;

/** Returns the bearer token for the target's routing service: the configured token, or that of a sign-in there. */
export async function findBearerToken(context: Context): Promise<string | undefined> {
  const { baseUrls, credentials } = await context.target("router");
  if (credentials.bearer !== undefined) return credentials.bearer;
  const address = baseUrls.router;
  if (address === undefined || !Object.hasOwn(await readAccounts(context), address)) return undefined;
  return (await requireValidAccount(context, address)).access_token;
}

const maxWaitMs = 2_000;

/**
 * Returns the time by which the tokens of an account expire. An emulator's tokens expire in virtual time, which is
 * requested. Undefined if the emulator does not respond.
 */
export async function findServerTime(
  context: Context,
  address: string,
  { virtual_time }: Pick<Account, "virtual_time">,
): Promise<number | undefined> {
  const { host, signal } = context;
  if (virtual_time !== true) return host.wall.now();
  const client = await createOAuthClient(context);
  const url = `${address}/.well-known/openid-configuration`;
  const response = await client
    .exchange({ method: "GET", url, headers: {}, body: undefined }, { signal, retries: 0, timeoutMs: maxWaitMs })
    .catch((error: unknown) => {
      if (signal.aborted) throw error;
      return undefined;
    });
  return response && readVirtualTime(response.headers);
}
