import { late } from "../../../src/base/within.ts";
import { TooLong, wholeBody } from "../bodies/whole.ts";
import type { Forwardable, Forwarder } from "./forward.ts";

/** What came of a request whose answer is read whole. */
export type AskResult =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly rawHeaders: readonly string[];
      readonly body: Buffer;
    }
  | { readonly kind: "unreachable"; readonly reason: string }
  | { readonly kind: "late" };

interface AskOptions {
  readonly forwarder: Forwarder;
  /** From sending to the last byte of the answer. */
  readonly timeoutMs: number;
  /** A longer answer counts as none. */
  readonly maxBytes?: number;
  /** Calls when the caller leaves for whom it is asked. */
  readonly whenGone?: ((tell: () => void) => void) | undefined;
}

/** Sends a request to another server and reads its answer whole, in so much wall time. Never rejects. */
export async function ask(
  { forwarder, timeoutMs, maxBytes, whenGone }: AskOptions,
  url: string,
  request: Forwardable,
): Promise<AskResult> {
  const sending = forwarder.send(url, request);
  whenGone?.(() => sending.breakOff());
  const result = await forwarder.within(timeoutMs, exchange());
  if (result !== late) return result;
  sending.breakOff();
  return { kind: "late" };

  async function exchange(): Promise<AskResult> {
    const sent = await sending.sent;
    if (sent.kind === "unreachable") return sent;
    const { status, rawHeaders, body } = sent.answer;
    try {
      return { kind: "answered", status, rawHeaders, body: await wholeBody(body, maxBytes) };
    } catch (error) {
      const reason = error instanceof TooLong ? "the answer is too long" : "the answer broke off";
      return { kind: "unreachable", reason };
    }
  }
}
