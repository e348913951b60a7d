import type { Operation } from "../../src/api/operation.ts";
import type { ReceivedRequest } from "./handler.ts";

/** Scripted trouble for one incoming request. What is given happens in this order. */
export interface Fault {
  /** Wall milliseconds to wait before anything else. */
  readonly latencyMs?: number;
  /** Ends the connection without an answer; the operation does not run. */
  readonly reset?: boolean;
  /** Answers with this status in the place of the operation. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body that goes with `status`; default: a sentence that names the fault. */
  readonly body?: unknown;
  /** What is done, in a few words, and what scripted it: for whoever asks what became of the request. */
  readonly told?: string;
  /** Runs the operation, announces its whole answer, sends half of it and ends the connection. */
  readonly truncated?: boolean;
}

/**
 * Asked once per request, after it was matched and before credentials. It counts, so it must be asked only once.
 * `operation` is undefined where no operation is declared for the path.
 */
export type FaultFor = (
  request: Pick<ReceivedRequest, "method" | "target" | "headers">,
  operation: Operation | undefined,
) => Fault | undefined;
