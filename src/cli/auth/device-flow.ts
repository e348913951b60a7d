import { NetworkError } from "../../client/errors.ts";
import { parseRetryAfterMs } from "../../client/network-failure.ts";
import { CommandFailedError } from "../process/failure.ts";
import type { Host } from "../process/host.ts";
import { createOAuthError, type OAuthResponse, toNonEmptyString, toSeconds } from "./oauth-call.ts";

/** Challenge that the user approves, and the secret that only the device has. */
export interface DeviceChallenge {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly verificationUri: string;
  readonly verificationUriComplete: string | undefined;
  readonly expiresInSeconds: number;
  readonly intervalSeconds: number;
}

/** Default if the server returns no interval (RFC 8628, 3.2). */
const defaultIntervalSeconds = 5;
/** Each slow_down response adds this permanently to the interval (RFC 8628, 3.5). */
const slowDownSeconds = 5;
const maxBackoffSeconds = 60;

/** Rejects addresses other than http(s), because a browser can open them. */
export function parseChallenge(response: OAuthResponse): DeviceChallenge {
  if (response.status < 200 || response.status > 299 || response.error !== undefined) {
    throw createOAuthError("The request for a device code", response);
  }
  const { fields } = response;
  const deviceCode = toNonEmptyString(fields.device_code);
  const userCode = toNonEmptyString(fields.user_code);
  const verificationUri = parseWebAddress(fields.verification_uri);
  const expiresInSeconds = toSeconds(fields.expires_in);
  if (!deviceCode || !userCode || !verificationUri || expiresInSeconds === undefined) {
    throw new CommandFailedError("failed", "unreadable_response", "The device authorization response is incomplete.", {
      hint: "Check that the address belongs to the routing service or to an OAuth server with device login.",
    });
  }
  return {
    deviceCode,
    userCode: toPrintable(userCode),
    verificationUri,
    verificationUriComplete: parseWebAddress(fields.verification_uri_complete),
    expiresInSeconds,
    intervalSeconds: toSeconds(fields.interval) || defaultIntervalSeconds,
  };
}

const toPrintable = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?").slice(0, 200);

function parseWebAddress(value: unknown): string | undefined {
  const text = toNonEmptyString(value);
  const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined;
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined;
}

/**
 * Polls until the user decides (RFC 8628, 3.4 and 3.5). The first poll follows one interval, and no poll follows the
 * expiry of the code. Fails with exit code 4 if access is denied or the code has expired.
 */
export async function pollForTokens(
  start: { readonly interval: number; readonly expires_at: string },
  poll: () => Promise<OAuthResponse>,
  { wall }: Pick<Host, "wall">,
  signal: AbortSignal,
  observer: {
    readonly onSlowDown?: (intervalSeconds: number) => void;
    readonly onFailure?: (reason: string, waitSeconds: number) => void;
  } = {},
): Promise<OAuthResponse> {
  const deadline = Date.parse(start.expires_at);
  let intervalSeconds = start.interval;
  let faults = 0;
  let waitMs = intervalSeconds * 1_000;
  for (;;) {
    // After the expiry, a poll can only return "expired".
    if (!(wall.now() + waitMs < deadline)) throw createExpiredError();
    await wall.sleep(waitMs, signal);
    signal.throwIfAborted();
    const response = await poll().catch((error: unknown) => {
      if (error instanceof NetworkError) return error;
      throw error;
    });
    const failure = findTemporaryFailure(response);
    if (failure !== undefined) {
      faults += 1;
      const backoffSeconds = Math.max(intervalSeconds, Math.min(maxBackoffSeconds, intervalSeconds * 2 ** faults));
      const retryMs = response instanceof NetworkError ? 0 : (parseRetryAfterMs(response.headers, wall.now()) ?? 0);
      waitMs = Math.max(backoffSeconds * 1_000, retryMs);
      observer.onFailure?.(failure, Math.round(waitMs / 1_000));
      continue;
    }
    faults = 0;
    const final = response as OAuthResponse;
    if (final.error === "slow_down") {
      intervalSeconds = Math.max(intervalSeconds + slowDownSeconds, toSeconds(final.fields.interval) ?? 0);
      observer.onSlowDown?.(intervalSeconds);
    } else if (final.error !== "authorization_pending") {
      return finishPolling(final);
    }
    waitMs = intervalSeconds * 1_000;
  }
}

export async function pollOnce(poll: () => Promise<OAuthResponse>): Promise<OAuthResponse | undefined> {
  const response = await poll();
  const isOpen = response.error === "authorization_pending" || response.error === "slow_down";
  return isOpen ? undefined : finishPolling(response);
}

/** Describes a temporary failure: no response or an overloaded server. Returns undefined for other responses. */
function findTemporaryFailure(response: OAuthResponse | NetworkError): string | undefined {
  if (response instanceof NetworkError) return response.code;
  if (response.error === "slow_down" || response.error === "authorization_pending") return undefined;
  const isTemporary = response.status >= 500 || response.status === 429 || response.status === 408;
  const knownErrors = ["access_denied", "expired_token", "invalid_grant", "invalid_client"];
  return isTemporary && !knownErrors.includes(response.error ?? "") ? `status ${response.status}` : undefined;
}

function finishPolling(response: OAuthResponse): OAuthResponse {
  if (response.error === "access_denied") {
    throw new CommandFailedError("forbidden", "access_denied", "The sign-in was denied.", {
      next: ["auth", "device-login"],
    });
  }
  if (response.error === "expired_token") throw createExpiredError();
  if (response.error !== undefined || response.status < 200 || response.status > 299)
    throw createOAuthError("The sign-in", response);
  return response;
}

const createExpiredError = (): CommandFailedError =>
  new CommandFailedError("forbidden", "expired_token", "The code expired before it was approved.", {
    next: ["auth", "device-login"],
  });
