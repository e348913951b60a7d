import { createSwitch, createTextFlag } from "../../../derive/command-spec.ts";
import {
  type Account,
  changeAccount,
  describeToken,
  findServerTime,
  getSignInCommand,
  getTokensPath,
  hasExpired,
  readAccounts,
  refreshAccount,
  requireValidAccount,
  resolveAccountAddress,
  tokenVariable,
} from "../../auth/accounts.ts";
import { createOAuthClient, postOAuth, resolveServerAddress } from "../../auth/oauth-call.ts";
import { beginSignIn, finishSignIn, signIn } from "../../auth/sign-in.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { getProfilesPath } from "../../connection/profiles/profile.ts";
import { resolveOAuthClientSetting, resolveServiceSettings } from "../../connection/resolve-settings.ts";
import { maskSecrets } from "../../output/ci.ts";
import { checkFields } from "../../output/output.ts";
import { formatNextCommand } from "../../parse/argv.ts";
import { InputRequiredError, PartialFailureError, UsageError } from "../../process/failure.ts";

const issuerFlag = createTextFlag("issuer", "URL", "OAuth issuer, if it is not the routing service");

/** Options of the request for a code, which a sign-in that --no-wait started has made. */
const requestFlags = ["client-id", "scope", "issuer"] as const;

const authDeviceLogin = defineCommand({
  words: ["auth", "device-login"],
  summary: "Sign in by approving a code in a browser",
  description:
    "Shows an address and a code, waits until the code is approved there (RFC 8628), and saves the tokens in tokens.json next to the profiles, readable only by you. They are sent only to the server that issued them. --json prints two lines: the code to approve, then the outcome.",
  flags: [
    createTextFlag("client-id", "ID", "OAuth client (default: SVC_OAUTH_CLIENT_ID or the profile's)"),
    createTextFlag("scope", "SCOPES", "Scopes to request, separated by spaces"),
    issuerFlag,
    createSwitch("no-browser", "Do not offer to open a browser"),
    createSwitch("no-wait", "Start or check once without waiting; exit 8 while pending"),
    createSwitch("finish", "Finish a sign-in that --no-wait started"),
  ],
  examples: [
    ["Sign in to the emulator of this folder", "--emulator auth device-login --client-id demo-cli"],
    ["Sign in to another server", "auth device-login --issuer https://id.example.com --client-id tool --scope openid"],
    ["Start a sign-in without waiting", "auth device-login --client-id demo-cli --no-wait"],
    ["Check whether the sign-in is approved", "auth device-login --finish --no-wait"],
  ],
  async run(input, context) {
    const { output } = context;
    const { token } = await resolveServiceSettings(context);
    if (token)
      throw new UsageError(`${describeToken(token)} is set and overrides every sign-in.`, { hint: "Unset it first." });
    const unused = requestFlags.find((flag) => input.flags[flag] !== undefined);
    if (input.flags.finish && unused !== undefined) throw new UsageError(`--finish cannot be used with --${unused}`);
    const shouldWait = input.flags["no-wait"] !== true;
    const request = async () => ({
      clientId: await resolveClientId(input.flags["client-id"], context),
      issuer: input.flags.issuer,
      scope: input.flags.scope,
      shouldOfferBrowser: input.flags["no-browser"] !== true,
    });
    const next = `After the approval: ${formatNextCommand(["auth", "device-login", "--finish"], context)}`;
    if (!shouldWait && !input.flags.finish) {
      await beginSignIn(await request(), context);
      await output.note(next);
      return "pending";
    }
    const signedIn = input.flags.finish
      ? await finishSignIn(context, shouldWait)
      : await signIn(await request(), context);
    if (signedIn === undefined) {
      await output.note(`The code is not approved yet. ${next}`);
      return "pending";
    }
    const { address, account } = signedIn;
    const { client_id, scope, expires_at } = account;
    if (output.format !== "table") {
      await output.printDocument({ event: "signed_in", address, client_id, scope, expires_at });
    }
    await output.note(
      `Signed in to ${address}${expires_at === undefined ? "" : `; the token expires at ${expires_at}`}`,
    );
    await output.note(`Next: ${formatNextCommand(["auth", "status"], context)}`);
  },
});

async function resolveClientId(givenId: string | undefined, context: Context): Promise<string> {
  const clientId = givenId ?? (await resolveOAuthClientSetting(context))?.value;
  if (clientId) return clientId;
  throw new InputRequiredError("client-id", "--client-id is required", {
    hint: "Or set SVC_OAUTH_CLIENT_ID, or run svc config set oauth_client_id ID. To create a client, run svc auth create-client.",
  });
}

const fields = ["address", "source", "location", "client_id", "scope", "expires_at", "state", "refreshable", "current"];

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
    if (rows.length > 0) await output.note(await explainMissingSignIn(currentRow, currentAddress, context));
    return "forbidden";
  },
});

async function explainMissingSignIn(
  expired: { readonly address: string; readonly client_id: string | null } | undefined,
  address: string | undefined,
  context: Context,
) {
  if (address === undefined) return "No server is selected. Use --issuer, --base-url or --profile";
  const signInCommand = formatNextCommand(
    await getSignInCommand(address, context, expired?.client_id ?? undefined),
    context,
  );
  if (expired) return `The sign-in at ${expired.address} has expired. Next: ${signInCommand}`;
  return `Not signed in at ${address}, the server in use. Next: ${signInCommand}`;
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
  const { token } = await resolveServiceSettings(context);
  const place =
    token?.origin === tokenVariable
      ? { source: tokenVariable, location: "environment" }
      : { source: "profile", location: getProfilesPath(host.env) };
  const unknown = { client_id: null, scope: null, expires_at: null };
  const givenRow = { address: currentAddress ?? "any", ...place, ...unknown };
  const givenRows = token ? [{ ...givenRow, state: "given", refreshable: false, current: true }] : [];
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
      current: givenRows.length === 0 && address === currentAddress,
    };
  };
  const rows = await Promise.all(Object.entries(accounts).map(readRow));
  return { rows: [...givenRows, ...rows], chosen: currentAddress };
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
  description:
    "Refreshes the token first if it is about to expire. Prints SVC_TOKEN or the token of the profile unchanged if it is set.",
  flags: [issuerFlag],
  examples: [["Print the token as JSON, for a script", "auth token --json=access_token"]],
  async run(input, context) {
    const { output } = context;
    const token = input.flags.issuer === undefined ? (await resolveServiceSettings(context)).token : undefined;
    const { access_token, token_type, expires_at } = token
      ? { access_token: token.value, token_type: "Bearer", expires_at: undefined }
      : await requireValidAccount(context, await resolveAccountAddress(input.flags.issuer, context));
    await maskSecrets(context.host, [access_token]);
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
    const { output } = context;
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
    // The sign-out has taken effect, also if the profile in use does not exist.
    const { token } = await resolveServiceSettings(context).catch(() => ({ token: undefined }));
    if (token) await output.warn(`${describeToken(token)} is still set and overrides every sign-in.`);
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
        `The sign-in at ${address} is removed from this machine. Its tokens may still be valid`,
      ]);
    },
  );
  // An HTML page is not a token response, regardless of its status.
  if (response?.status === 200 && !/\bhtml\b/.test(response.headers["content-type"] ?? "")) return true;
  await context.output.warn(`${address} did not confirm that the tokens are revoked.`);
  return false;
}

export const commands: readonly Command[] = [authDeviceLogin, authStatus, authToken, authRefresh, authLogout];
