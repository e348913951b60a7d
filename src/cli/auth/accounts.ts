import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../../base/object.ts";
import { makeFolder } from "../../files/folders.ts";
import type { Context } from "../command.ts";
import { changePrivateFile, readPrivateFile } from "../connection/profiles/private-file.ts";
import { getConfigFolder, hasConfigFolder } from "../process/environment.ts";
import { CommandFailedError, UsageError } from "../process/failure.ts";
import { resolveServerAddress } from "./oauth-call.ts";

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

export type Accounts = Readonly<Record<string, Account>>;

interface TokenFile {
  readonly accounts?: Accounts;
}

export const getTokensPath = ({ host: { env } }: Pick<Context, "host">): string =>
  join(getConfigFolder(env), "tokens.json");

export async function readAccounts(context: Pick<Context, "host">): Promise<Accounts> {
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
  const { accounts } = await changePrivateFile<TokenFile>(
    getTokensPath(context),
    checkAccounts,
    context.host,
    context.signal,
    async (content) => {
      const accounts = content?.accounts ?? {};
      const account = await change(Object.hasOwn(accounts, address) ? accounts[address] : undefined);
      const otherAccounts = Object.entries(accounts).filter(([name]) => name !== address);
      return {
        ...content,
        accounts: Object.fromEntries(account ? [...otherAccounts, [address, account]] : otherAccounts),
      };
    },
  );
  return accounts?.[address];
}

/** Throws CommandFailedError before the user approves a device whose tokens cannot be stored. */
export async function requireWritableTokens({ host: { env } }: Pick<Context, "host">): Promise<void> {
  const folder = getConfigFolder(env);
  try {
    await makeFolder(folder);
    await access(folder, constants.W_OK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new CommandFailedError("failed", "config_unwritable", `Failed to write to ${folder}: ${code}`, {
      hint: "Set SVC_CONFIG_DIR to another folder.",
      cause,
    });
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
