import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { toIsoMillis, toIsoSeconds } from "../../base/clock.ts";
import { isObject } from "../../base/object.ts";
import { pluralize } from "../../base/text.ts";
import type { Context } from "../command.ts";
import { type ContentCheck, changePrivateFile, readPrivateFile } from "../connection/profiles/private-file.ts";
import { bold } from "../output/styled.ts";
import { getConfigFolder } from "../process/environment.ts";
import { CommandFailedError } from "../process/failure.ts";
import { findBrowserCommand, openBrowser } from "../prompt/browser.ts";
import { canPrompt } from "../prompt/confirm.ts";
import { withSpinner } from "../prompt/spinner.ts";
import { type Account, changeAccount, requireWritableTokens } from "./accounts.ts";
import { type DeviceChallenge, parseChallenge, pollForTokens, pollOnce } from "./device-flow.ts";
import { type AuthServer, createOAuthClient, findAuthServer, postOAuth } from "./oauth-call.ts";
import { toTokens } from "./tokens.ts";

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

export interface SignInResult {
  readonly address: string;
  readonly account: Account;
}

export interface SignInRequest {
  readonly clientId: string;
  /** OAuth server. Undefined for the routing service. */
  readonly issuer: string | undefined;
  readonly scope: string | undefined;
  readonly shouldOfferBrowser: boolean;
}

/** Performs the whole device login: requests a code, shows it, waits, and stores the tokens. */
export async function signIn(request: SignInRequest, context: Context): Promise<SignInResult> {
  const { begun: pending, challenge } = await beginPendingSignIn(request, context);
  await announceChallenge(challenge, context);
  const stopOffering = offerBrowser(challenge, request, context);
  return finishLogin(pending, context, true).finally(stopOffering) as Promise<SignInResult>;
}

/** Performs the first step: requests a code, shows it, and stores the input of the second step. */
export async function beginSignIn(request: SignInRequest, context: Context): Promise<void> {
  const { begun: pending, challenge } = await beginPendingSignIn(request, context);
  await savePendingSignIn(pending, context);
  await announceChallenge(challenge, context);
}

const finalErrors: readonly string[] = ["access_denied", "expired_token", "invalid_grant"];

/** Performs the second step: waits for the approval, or checks once. Returns undefined before the decision. */
export async function finishSignIn(context: Context, shouldWait: boolean): Promise<SignInResult | undefined> {
  const pending = await readPendingSignIn(context);
  const signedIn = await finishLogin(pending, context, shouldWait).catch(async (error: unknown) => {
    // The pending sign-in is over. After any other rejection, another attempt can succeed.
    if (error instanceof CommandFailedError && finalErrors.includes(error.code)) await removePendingSignIn(context);
    throw error;
  });
  if (signedIn) await removePendingSignIn(context);
  return signedIn;
}

async function beginPendingSignIn({ clientId: client_id, issuer, scope }: SignInRequest, context: Context) {
  await requireWritableTokens(context);
  const client = await createOAuthClient(context);
  const server = await findAuthServer(issuer, client, context);
  const challenge = parseChallenge(
    await postOAuth(client, server.deviceUrl, server.encoding, { client_id, scope }, context.signal),
  );
  const pending: PendingSignIn = {
    client_id,
    device_code: challenge.deviceCode,
    interval: challenge.intervalSeconds,
    expires_at: toIsoMillis(context.host.wall.now() + challenge.expiresInSeconds * 1_000),
    server,
  };
  return { begun: pending, challenge };
}

async function finishLogin(
  pending: PendingSignIn,
  context: Context,
  shouldWait: boolean,
): Promise<SignInResult | undefined> {
  const { host, output, signal } = context;
  const { client_id, device_code, server } = pending;
  const client = await createOAuthClient(context);
  const poll = () =>
    postOAuth(client, server.tokenUrl, server.encoding, { grant_type: deviceGrant, device_code, client_id }, signal);
  const response = shouldWait
    ? await withSpinner(
        context,
        "Waiting for approval",
        () =>
          pollForTokens(pending, poll, host, signal, {
            onSlowDown: (seconds) =>
              void output.note(`The server requested a longer interval: polling every ${seconds} s`),
            onFailure: (reason, seconds) =>
              void output.note(`Polling failed (${reason}); trying again in ${seconds} s`),
          }),
        { tellsTime: true },
      )
    : await pollOnce(poll);
  if (response === undefined) return undefined;
  const now = host.wall.now();
  const account: Account = {
    client_id,
    ...toTokens(response, now),
    signed_in_at: toIsoSeconds(now),
    refresh_url: server.refreshUrl,
    revocation_url: server.revocationUrl,
  };
  await changeAccount(context, server.address, () => account);
  return { address: server.address, account };
}

/** Programs read the challenge on standard output before the wait. Users read it on standard error. */
async function announceChallenge(challenge: DeviceChallenge, { output }: Context): Promise<void> {
  const { userCode, verificationUri, verificationUriComplete, expiresInSeconds, intervalSeconds } = challenge;
  if (output.format !== "table") {
    const request = {
      event: "approval_needed",
      verification_uri: verificationUri,
      verification_uri_complete: verificationUriComplete,
      user_code: userCode,
      expires_in: expiresInSeconds,
      interval: intervalSeconds,
    };
    return output.printDocument(request);
  }
  await output.warn(["Open ", bold(verificationUri)]);
  await output.warn(["and enter the code ", bold(userCode)]);
  if (verificationUriComplete) await output.warn(`or open ${verificationUriComplete}`);
  await output.warn(`within ${pluralize(Math.round(expiresInSeconds / 60), "minute")}.`);
}

/** Opens a browser when the user presses Enter. Polling continues, because the user can approve the code on a phone. */
function offerBrowser(challenge: DeviceChallenge, { shouldOfferBrowser }: SignInRequest, context: Context): () => void {
  const { host, output, globals } = context;
  const command = shouldOfferBrowser ? findBrowserCommand(host) : undefined;
  if (!command || !canPrompt(host, globals)) return () => {};
  const address = challenge.verificationUriComplete ?? challenge.verificationUri;
  // Terminal mode would intercept Ctrl-C.
  const lines = createInterface({ input: host.stdin, terminal: false });
  lines.once("line", () => {
    void openBrowser(command, address, host).then((reason) =>
      reason === undefined ? undefined : output.warn(`${reason}. Open ${address} yourself.`),
    );
  });
  void output.warn("Press Enter to open it in your browser.");
  return () => lines.close();
}

/** Sign-in that was started without waiting. The file contains the device's secret, so only its owner can read it. */
interface PendingSignIn {
  readonly client_id: string;
  readonly device_code: string;
  readonly interval: number;
  /** ISO 8601, wall-clock time. */
  readonly expires_at: string;
  readonly server: AuthServer;
}

const getPendingLoginPath = ({ host: { env } }: Pick<Context, "host">): string =>
  join(getConfigFolder(env), "device-login.json");

async function savePendingSignIn(pending: PendingSignIn, context: Context): Promise<void> {
  await changePrivateFile<PendingSignIn>(
    getPendingLoginPath(context),
    () => undefined,
    context.host,
    context.signal,
    () => pending,
  );
}

async function readPendingSignIn(context: Context): Promise<PendingSignIn> {
  const pending = await readPrivateFile<PendingSignIn>(getPendingLoginPath(context), checkPendingSignIn);
  if (pending) return pending;
  throw new CommandFailedError("usage", "nothing_begun", "No sign-in was started with --no-wait.", {
    next: ["auth", "device-login", "--no-wait"],
  });
}

const checkPendingSignIn: ContentCheck = ({ client_id, device_code, expires_at, interval, server }) => {
  const texts = [client_id, device_code, expires_at];
  const isWhole = texts.every((text) => typeof text === "string") && typeof interval === "number" && isObject(server);
  return isWhole ? undefined : "it must be what svc auth device-login --no-wait wrote";
};

const removePendingSignIn = (context: Context): Promise<void> => rm(getPendingLoginPath(context), { force: true });
