import { createSwitch, createTextFlag } from "../../../derive/command-spec.ts";
import {
  type Account,
  changeAccount,
  findServerTime,
  getTokensPath,
  hasExpired,
  readAccounts,
  refreshAccount,
  requireValidAccount,
  resolveAccountAddress,
} from "../../auth/accounts.ts";
import { createOAuthClient, postOAuth, resolveServerAddress } from "../../auth/oauth-call.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { readVariable } from "../../connection/resolve-settings.ts";
import { checkFields } from "../../output/output.ts";
import { formatNextCommand } from "../../parse/argv.ts";
import { PartialFailureError } from "../../process/failure.ts";

const fields = ["address", "source", "location", "client_id", "scope", "expires_at", "state", "refreshable", "current"];

export const issuerFlag = createTextFlag("issuer", "URL", "OAuth issuer, if it is not the routing service");

const authStatus = defineCommand({
  words: ["auth", "status"],
  summary: "Show where you are signed in",
  description:
    "Shows the source and location of each token, never the token. Tokens of an emulator expire in its virtual time, which is requested. Exits 4 if there is no valid sign-in for the server.",
  flags: [issuerFlag],
  examples: [
    ["List all sign-ins", "auth status"],
    ["Print fields for a program", "auth status --json=address,state,expires_at"],
  ],
  async run(input, context) {
    const { output } = context;
    if (context.globals.fields) checkFields(context.globals.fields, fields);
    const { rows, chosen: currentAddress } = await listSignIns(input.flags.issuer, context);
    const columns = ["address", "state", "current", "expires_at", "source"];
    await output.show(rows, { fields, columns, emptyMessage: "Not signed in" });
    const currentRow = rows.find(({ current }) => current);
    if (currentRow && currentRow.state !== "expired") return undefined;
    if (rows.length > 0) await output.note(explainMissingSignIn(currentRow?.address, currentAddress, context));
    return "forbidden";
  },
});

function explainMissingSignIn(expiredAt: string | undefined, address: string | undefined, context: Context): string {
  const signInCommand = formatNextCommand(["auth", "device-login"], context);
  if (expiredAt !== undefined) return `The sign-in at ${expiredAt} has expired. Next: ${signInCommand}`;
  if (address !== undefined) return `Not signed in at ${address}, the server in use. Next: ${signInCommand}`;
  return "No server is selected. Use --issuer, --base-url or --profile";
}

function describeTokenState(account: Account, now: number): string {
  if (!hasExpired(account, now)) return "good";
  return account.refresh_token === undefined ? "expired" : "to be refreshed";
}

async function listSignIns(issuer: string | undefined, context: Context) {
  const { host, output } = context;
  const accounts = await readAccounts(context);
  const names = Object.keys(accounts);
  const currentAddress = await resolveServerAddress(issuer, context).catch((error: unknown) => {
    if (issuer !== undefined) throw error;
    return names.length === 1 ? names[0] : undefined;
  });
  const place = { address: currentAddress ?? "any", source: "SVC_TOKEN", location: "environment" };
  const unknown = { client_id: null, scope: null, expires_at: null };
  const environmentRow = { ...place, ...unknown, state: "given", refreshable: false, current: true };
  const environmentRows = readVariable(host, "SVC_TOKEN") ? [environmentRow] : [];
  const readRow = async ([address, account]: [string, Account]) => {
    const now = await findServerTime(context, address, account);
    if (now === undefined) {
      await output.warn(`The emulator at ${address} does not respond, so its virtual time is unknown.`);
    }
    return {
      address,
      source: "sign-in",
      location: getTokensPath(context),
      client_id: account.client_id,
      scope: account.scope ?? null,
      expires_at: account.expires_at ?? null,
      state: now === undefined ? "unknown" : describeTokenState(account, now),
      refreshable: account.refresh_token !== undefined,
      current: environmentRows.length === 0 && address === currentAddress,
    };
  };
  const rows = await Promise.all(Object.entries(accounts).map(readRow));
  return { rows: [...environmentRows, ...rows], chosen: currentAddress };
}

const authRefresh = defineCommand({
  words: ["auth", "refresh"],
  summary: "Exchange the refresh token for new tokens now",
  description:
    "Commands do this automatically when a token is about to expire. Concurrent commands take turns, so a refresh token is never used twice.",
  flags: [issuerFlag],
  examples: [["Refresh the token before a long job", "auth refresh"]],
  async run(input, context) {
    const address = await resolveAccountAddress(input.flags.issuer, context);
    const { expires_at, scope, refreshed_at } = await refreshAccount(context, address, true);
    const times = { expires_at: expires_at ?? null, scope: scope ?? null, refreshed_at: refreshed_at ?? null };
    await context.output.show({ address, ...times }, { fields: ["address", ...Object.keys(times)] });
  },
});

const authToken = defineCommand({
  words: ["auth", "token"],
  summary: "Print a valid access token for other programs",
  description: "Refreshes the token first if it is about to expire. Prints SVC_TOKEN unchanged if it is set.",
  flags: [issuerFlag],
  examples: [["Pass the token to a script without showing it", "auth token --json=access_token"]],
  async run(input, context) {
    const { output, host } = context;
    const environmentToken = input.flags.issuer === undefined ? readVariable(host, "SVC_TOKEN")?.value : undefined;
    const { access_token, token_type, expires_at } = environmentToken
      ? { access_token: environmentToken, token_type: "Bearer", expires_at: undefined }
      : await requireValidAccount(context, await resolveAccountAddress(input.flags.issuer, context));
    if (output.isText) await output.print(access_token);
    else {
      const fields = ["access_token", "token_type", "expires_at"];
      await output.show({ access_token, token_type, expires_at: expires_at ?? null }, { fields });
    }
  },
});

const authLogout = defineCommand({
  words: ["auth", "logout"],
  summary: "Sign out, and revoke the tokens if the server can",
  flags: [issuerFlag, createSwitch("all", "Sign out everywhere")],
  examples: [
    ["Sign out of the configured routing service", "auth logout"],
    ["Sign out of all servers", "auth logout --all"],
  ],
  async run(input, context) {
    const { output, host } = context;
    const knownAddresses = Object.keys(await readAccounts(context));
    const addresses =
      input.flags.all === true ? knownAddresses : [await resolveAccountAddress(input.flags.issuer, context)];
    const signedOut = [];
    for (const address of addresses) {
      // The account is removed first, so that this machine does not store it regardless of the server's response.
      const revocation = await removeAccount(address, context);
      if (revocation !== "unknown") signedOut.push({ address, revoked: revocation });
    }
    if (signedOut.length === 0) await output.note("Not signed in");
    for (const { address } of signedOut) await output.note(`Signed out of ${address}`);
    if (output.format !== "table") await output.show(signedOut, { fields: ["address", "revoked"] });
    if (readVariable(host, "SVC_TOKEN")) await output.warn("SVC_TOKEN is still set and overrides every sign-in.");
  },
});

/** Removes the account. Returns whether the server also revoked the tokens, which many do not support. */
async function removeAccount(address: string, context: Context): Promise<boolean | "unknown"> {
  if (!Object.hasOwn(await readAccounts(context), address)) return "unknown";
  let account: Account | undefined;
  await changeAccount(context, address, (now) => {
    account = now;
    return undefined;
  });
  if (account?.revocation_url === undefined) return false;
  const { client_id, refresh_token, access_token, revocation_url: url } = account;
  const token = refresh_token ?? access_token;
  const client = await createOAuthClient(context);
  const response = await postOAuth(client, url, "form", { token, client_id }, context.signal).catch(
    (error: unknown) => {
      if (!context.signal.aborted) return undefined;
      throw new PartialFailureError(error, [
        `The sign-in at ${address} is removed from this machine. It is unknown whether its tokens are revoked`,
      ]);
    },
  );
  // An HTML page is not a token response, regardless of its status.
  if (response?.status === 200 && !/\bhtml\b/.test(response.headers["content-type"] ?? "")) return true;
  await context.output.warn(`${address} did not confirm that the tokens are revoked.`);
  return false;
}

export const commands: readonly Command[] = [authStatus, authToken, authRefresh, authLogout];
