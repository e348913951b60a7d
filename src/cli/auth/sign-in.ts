import { rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { toIsoMillis, toIsoSeconds } from "../../base/clock.ts";
import { isObject } from "../../base/object.ts";
import { pluralize, toNonEmptyString } from "../../base/text.ts";
import { NetworkError } from "../../client/errors.ts";
import { parseRetryAfterMs } from "../../client/network-failure.ts";
import type { Context } from "../command.ts";
import { type ContentCheck, changePrivateFile, readPrivateFile } from "../connection/profiles/private-file.ts";
import { bold } from "../output/styled.ts";
import { getConfigFolder } from "../process/environment.ts";
import { CommandFailedError } from "../process/failure.ts";
import { findBrowserCommand, isWebAddress, openBrowser } from "../prompt/programs.ts";
import { canPrompt, withSpinner } from "../prompt/terminal.ts";
import { type Account, changeAccount, getSignInCommand, requireWritableTokens, toTokens } from "./accounts.ts";
import {
  type AuthServer,
  createOAuthClient,
  createOAuthError,
  findAuthServer,
  type OAuthResponse,
  postOAuth,
  toSeconds,
} from "./oauth-call.ts";

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

export interface SignInRequest {
  readonly clientId: string;
  /** OAuth server. Undefined for the routing service. */
  readonly issuer: string | undefined;
  readonly scope: string | undefined;
  readonly shouldOfferBrowser: boolean;
}

/** Performs the whole device login: requests a code, shows it, waits, and stores the tokens. */
export async function signIn(request: SignInRequest, context: Context) {
  const { pending, challenge } = await requestCode(request, context);
  await announceChallenge(challenge, context);
  const stopOffering = offerBrowser(challenge, request, context);
  const result = await finishLogin(pending, context, true).finally(stopOffering);
  return result!;
}

/** Performs the first step: requests a code, shows it, and stores the input of the second step. */
export async function beginSignIn(request: SignInRequest, context: Context): Promise<void> {
  const { pending, challenge } = await requestCode(request, context);
  const checkNothing = () => undefined;
  await changePrivateFile<PendingSignIn>(context, getPendingPath(context), checkNothing, () => pending);
  await announceChallenge(challenge, context);
}

const finalErrors: readonly string[] = ["access_denied", "expired_token", "invalid_grant"];

/** Performs the second step: waits for the approval, or checks once. Returns undefined before the decision. */
export async function finishSignIn(context: Context, shouldWait: boolean) {
  const path = getPendingPath(context);
  const pending = await readPrivateFile<PendingSignIn>(path, checkPendingSignIn);
  if (!pending) {
    throw new CommandFailedError("usage", "nothing_begun", "No sign-in was started with --no-wait.", {
      next: ["auth", "device-login", "--no-wait"],
    });
  }
  const remainingMs = pending.interval * 1_000 - getTimeSincePoll(pending, context);
  if (!shouldWait && remainingMs > 0) throw createTooEarlyError(remainingMs / 1_000);
  const removePending = () => rm(path, { force: true });
  const storePoll = (poll: PollState) =>
    changePrivateFile<PendingSignIn>(context, path, checkPendingSignIn, (current = pending) =>
      // Another command can have started a sign-in.
      current.device_code === pending.device_code ? { ...current, ...poll } : current,
    );
  const result = await finishLogin(pending, context, shouldWait, storePoll).catch(async (error: unknown) => {
    // The pending sign-in is over. After any other rejection, another attempt can succeed.
    if (error instanceof CommandFailedError && finalErrors.includes(error.code)) await removePending();
    throw error;
  });
  if (result) await removePending();
  return result;
}

/** Device authorization response (RFC 8628, 3.2). `device_code` is a secret of the device. */
type DeviceChallenge = ReturnType<typeof parseChallenge>;

/** What later polls must observe, also those of another command (RFC 8628, 3.5). */
interface PollState {
  /** Seconds between polls. */
  readonly interval: number;
  /** ISO 8601, wall-clock time. Absent before the first poll. */
  readonly polled_at?: string;
}

/** Sign-in that was started without waiting. The file contains the device's secret, so only its owner can read it. */
interface PendingSignIn extends PollState {
  readonly client_id: string;
  readonly device_code: string;
  /** ISO 8601, wall-clock time. */
  readonly expires_at: string;
  readonly server: AuthServer;
}

const getPendingPath = ({ host: { env } }: Pick<Context, "host">): string =>
  join(getConfigFolder(env), "device-login.json");

const checkPendingSignIn: ContentCheck = ({ client_id, device_code, expires_at, interval, server }) => {
  const texts = [client_id, device_code, expires_at];
  const isWhole = texts.every((text) => typeof text === "string") && typeof interval === "number" && isObject(server);
  return isWhole ? undefined : "it must be what svc auth device-login --no-wait wrote";
};

async function requestCode({ clientId: client_id, issuer, scope }: SignInRequest, context: Context) {
  await requireWritableTokens(context);
  const client = await createOAuthClient(context);
  const server = await findAuthServer(issuer, client, context);
  const challenge = parseChallenge(
    await postOAuth(client, server.deviceUrl, server.encoding, { client_id, scope }, context.signal),
  );
  const { device_code, interval, expires_in } = challenge;
  const expires_at = toIsoMillis(context.host.wall.now() + expires_in * 1_000);
  const pending: PendingSignIn = { client_id, device_code, interval, expires_at, server };
  return { pending, challenge };
}

/** Default if the server returns no interval (RFC 8628, 3.2). */
const defaultIntervalSeconds = 5;

/** Rejects addresses other than http(s), because a browser can open them. */
function parseChallenge(response: OAuthResponse) {
  if (!isSuccess(response)) throw createOAuthError("The request for a device code", response);
  const { fields } = response;
  const device_code = toNonEmptyString(fields.device_code);
  const user_code = toNonEmptyString(fields.user_code);
  const verification_uri = parseWebAddress(fields.verification_uri);
  const expires_in = toSeconds(fields.expires_in);
  if (!device_code || !user_code || !verification_uri || expires_in === undefined) {
    throw new CommandFailedError("failed", "unreadable_response", "The device authorization response is incomplete.", {
      hint: "Check that the address belongs to the routing service or to an OAuth server with device login.",
    });
  }
  return {
    device_code,
    user_code: user_code.replace(/[^\x20-\x7e]/g, "?").slice(0, 200),
    verification_uri,
    verification_uri_complete: parseWebAddress(fields.verification_uri_complete),
    expires_in,
    interval: toSeconds(fields.interval) || defaultIntervalSeconds,
  };
}

const isSuccess = ({ status, error }: OAuthResponse): boolean => error === undefined && status >= 200 && status <= 299;

function parseWebAddress(value: unknown): string | undefined {
  const text = toNonEmptyString(value);
  return text !== undefined && isWebAddress(text) ? new URL(text).href : undefined;
}

/** Programs read the challenge on standard output before the wait. Users read it on standard error. */
async function announceChallenge({ device_code: _, ...challenge }: DeviceChallenge, { output }: Context) {
  const { user_code, verification_uri, verification_uri_complete, expires_in, interval } = challenge;
  if (output.format !== "table") {
    const addresses = { verification_uri, verification_uri_complete };
    return output.printDocument({ event: "approval_needed", ...addresses, user_code, expires_in, interval });
  }
  await output.warn(["Open ", bold(verification_uri)]);
  await output.warn(["and enter the code ", bold(user_code)]);
  if (verification_uri_complete) await output.warn(`or open ${verification_uri_complete}`);
  const minutes = Math.floor(expires_in / 60);
  await output.warn(
    `within ${minutes > 0 ? pluralize(minutes, "minute") : pluralize(Math.floor(expires_in), "second")}.`,
  );
}

/** Opens a browser when the user presses Enter. Polling continues, because the user can approve the code on a phone. */
function offerBrowser(challenge: DeviceChallenge, { shouldOfferBrowser }: SignInRequest, context: Context): () => void {
  const { host, output, globals } = context;
  const command = shouldOfferBrowser ? findBrowserCommand(host) : undefined;
  if (!command || !canPrompt(host, globals)) return () => {};
  const address = challenge.verification_uri_complete ?? challenge.verification_uri;
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

async function finishLogin(
  pending: PendingSignIn,
  context: Context,
  shouldWait: boolean,
  storePoll: (poll: PollState) => Promise<unknown> = async () => {},
) {
  const { host, signal } = context;
  const { client_id, device_code, server } = pending;
  const client = await createOAuthClient(context);
  const fields = { grant_type: deviceGrant, device_code, client_id };
  let { interval } = pending;
  const poll = async () => {
    const response = await postOAuth(client, server.tokenUrl, server.encoding, fields, signal);
    if (response.error === "slow_down")
      interval = Math.max(interval + slowDownSeconds, toSeconds(response.fields.interval) ?? 0);
    if (isPending(response)) await storePoll({ interval, polled_at: toIsoMillis(host.wall.now()) });
    return { ...response, interval };
  };
  const next = await getSignInCommand(server.address, context, client_id);
  const wait = () => pollForTokens(pending, poll, next, context);
  const response = shouldWait
    ? await withSpinner(context, "Waiting for approval", wait, { tellsTime: true })
    : await poll();
  if (response.error === "slow_down") throw createTooEarlyError(response.interval);
  if (isPending(response)) return undefined;
  requireApproval(response, next);
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

/** Each slow_down response adds this permanently to the interval (RFC 8628, 3.5). */
const slowDownSeconds = 5;
const maxBackoffSeconds = 60;

/** Response to a poll, and the interval before the next one. */
type PollResponse = OAuthResponse & Pick<PollState, "interval">;

/** Polls until the user decides (RFC 8628, 3.4, 3.5), first after one interval, and never after the code's expiry. */
async function pollForTokens(
  { interval, expires_at }: PendingSignIn,
  poll: () => Promise<PollResponse>,
  next: readonly string[],
  { host: { wall }, output, signal }: Context,
): Promise<PollResponse> {
  // The machine's clock can be set during the wait.
  const deadline = wall.monotonicNow() + Date.parse(expires_at) - wall.now();
  let intervalSeconds = interval;
  let failures = 0;
  let waitMs = intervalSeconds * 1_000;
  for (;;) {
    // After the expiry, a poll can only return "expired".
    if (!(wall.monotonicNow() + waitMs < deadline)) throw createExpiredError(next);
    await wall.sleep(waitMs, signal);
    signal.throwIfAborted();
    const response = await poll().catch((error: unknown) => {
      if (error instanceof NetworkError) return error;
      throw error;
    });
    const failure = findTemporaryFailure(response);
    if (failure !== undefined) {
      failures += 1;
      const backoffSeconds = Math.max(intervalSeconds, Math.min(maxBackoffSeconds, intervalSeconds * 2 ** failures));
      const retryMs = response instanceof NetworkError ? 0 : (parseRetryAfterMs(response.headers, wall.now()) ?? 0);
      waitMs = Math.max(backoffSeconds * 1_000, retryMs);
      void output.note(`Polling failed (${failure}); trying again in ${Math.round(waitMs / 1_000)} s`);
      continue;
    }
    failures = 0;
    const pollResponse = response as PollResponse;
    intervalSeconds = pollResponse.interval;
    if (pollResponse.error === "slow_down")
      void output.note(`The server requested a longer interval: polling every ${intervalSeconds} s`);
    else if (pollResponse.error !== "authorization_pending") return pollResponse;
    waitMs = intervalSeconds * 1_000;
  }
}

/** Infinite before the first poll, and after the machine's clock was set back. */
function getTimeSincePoll({ polled_at }: PollState, { host }: Pick<Context, "host">): number {
  const elapsedMs = host.wall.now() - Date.parse(polled_at ?? "");
  return elapsedMs >= 0 ? elapsedMs : Number.POSITIVE_INFINITY;
}

const createTooEarlyError = (seconds: number): CommandFailedError =>
  new CommandFailedError("pending", "slow_down", "It is too early to check the code again.", {
    hint: `Check again in ${Math.ceil(seconds)} s.`,
  });

const isPending = ({ error }: OAuthResponse): boolean => error === "authorization_pending" || error === "slow_down";

/** Describes a temporary failure: no response or an overloaded server. Returns undefined for other responses. */
function findTemporaryFailure(response: OAuthResponse | NetworkError): string | undefined {
  if (response instanceof NetworkError) return response.code;
  const { status, error = "" } = response;
  const isTemporary = status >= 500 || status === 429 || status === 408;
  const isDecided = ["access_denied", "expired_token", "invalid_grant", "invalid_client"].includes(error);
  return isTemporary && !isDecided && !isPending(response) ? `status ${status}` : undefined;
}

/** Throws CommandFailedError (exit code 4) if access was denied or the code has expired. */
function requireApproval(response: OAuthResponse, next: readonly string[]): void {
  if (response.error === "access_denied")
    throw new CommandFailedError("forbidden", "access_denied", "The sign-in was denied.", { next });
  if (response.error === "expired_token") throw createExpiredError(next);
  if (!isSuccess(response)) throw createOAuthError("The sign-in", response);
}

const createExpiredError = (next: readonly string[]): CommandFailedError =>
  new CommandFailedError("forbidden", "expired_token", "The code expired before it was approved.", { next });
