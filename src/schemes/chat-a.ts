import { type Bytes, computeHmac, isEqualInConstantTime } from "../base/hmac.ts";
import { createInvalidVerdict, isFresh, type Verdict, validVerdict } from "./verdict.ts";

/** Maximum age of a request of the chat app in seconds, inclusive (DECISIONS.md, P10). */
const chatAMaxAgeSeconds = 300;

interface SignedRequest {
  readonly signingSecret: string;
  /** Seconds since the epoch, from the timestamp header. */
  readonly timestamp: string;
  /** Raw body. JSON that was parsed and serialized again has a different signature. */
  readonly body: Bytes;
}

/** Computes the `v0` signature: `v0=` and the lower-case hex HMAC-SHA256 of `v0:<timestamp>:<body>`. */
export const signChatA = ({ signingSecret, timestamp, body }: SignedRequest): string =>
  `v0=${computeHmac("sha256", signingSecret, `v0:${timestamp}:`, body).toString("hex")}`;

/** Verifies the two headers against the raw body. `nowMs` is the time for the freshness check. */
export function verifyChatA(
  request: Pick<SignedRequest, "signingSecret" | "body"> & {
    readonly timestamp: string | undefined;
    readonly signature: string | undefined;
    readonly nowMs: number;
  },
): Verdict<"missing" | "stale" | "mismatch"> {
  const { timestamp, signature, nowMs } = request;
  if (!timestamp || !signature) return createInvalidVerdict("missing");
  // The age is counted in whole seconds: 300 is accepted, 301 is not.
  const now = Math.floor(nowMs / 1_000);
  if (!/^\d+$/.test(timestamp) || !isFresh(Number(timestamp), now, chatAMaxAgeSeconds))
    return createInvalidVerdict("stale");
  return isEqualInConstantTime(signature, signChatA({ ...request, timestamp }))
    ? validVerdict
    : createInvalidVerdict("mismatch");
}
