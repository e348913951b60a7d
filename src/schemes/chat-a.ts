import { type Bytes, computeHmac, isEqualInConstantTime } from "../base/hmac.ts";
import { isFresh } from "./freshness.ts";
import { createInvalidVerdict, type Verdict, validVerdict } from "./verdict.ts";

/** A request of the chat app older than this is rejected; exactly this old passes (DECISIONS.md, P10). */
export const chatAMaxAgeSeconds = 300;

interface SignedRequest {
  readonly signingSecret: string;
  /** Seconds since the epoch, as the timestamp header says it. */
  readonly timestamp: string;
  /** The raw body: JSON that was parsed and printed again has another signature. */
  readonly body: Bytes;
}

/** The `v0` signature: `v0=` and the lower-case hex HMAC-SHA256 of `v0:<timestamp>:<body>`. */
export const signChatA = ({ signingSecret, timestamp, body }: SignedRequest): string =>
  `v0=${computeHmac("sha256", signingSecret, `v0:${timestamp}:`, body).toString("hex")}`;

/** Verifies the two headers against the raw body. `nowMs`: by which clock the request must be fresh. */
export function verifyChatA(
  request: Pick<SignedRequest, "signingSecret" | "body"> & {
    readonly timestamp: string | undefined;
    readonly signature: string | undefined;
    readonly nowMs: number;
  },
): Verdict<"missing" | "stale" | "mismatch"> {
  const { timestamp, signature, nowMs } = request;
  if (!timestamp || !signature) return createInvalidVerdict("missing");
  // The age is counted in whole seconds: 300 passes, 301 does not.
  const now = Math.floor(nowMs / 1_000);
  if (!/^\d+$/.test(timestamp) || !isFresh(Number(timestamp), now, chatAMaxAgeSeconds))
    return createInvalidVerdict("stale");
  return isEqualInConstantTime(signature, signChatA({ ...request, timestamp }))
    ? validVerdict
    : createInvalidVerdict("mismatch");
}
