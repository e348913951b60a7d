import type { LoggedRequest, RequestLog } from "../http/request-log/request-log.ts";

import type { CauseRow } from "../store/cause.ts";

/** Number of the newest responses that are remembered. */
const maxKnown = 2_048;

/** Requests whose rows are there and whose responses are to come: a row is durable before its request is answered. */
export class PendingResponses {
  readonly #onFinished: (name: string, answered: RequestOutcome | undefined) => void;
  readonly #unwatch: () => void;
  readonly #awaited = new Set<string>();
  readonly #known = new Map<number, RequestOutcome>();
  /** An earlier request that is not stored was answered long ago. */
  #oldestKnown: number;

  /** Publishes each awaited request with its response; the remaining ones at the end without one. */
  constructor(log: RequestLog, onFinished: (name: string, answered: RequestOutcome | undefined) => void) {
    this.#onFinished = onFinished;
    this.#oldestKnown = log.lastNumber;
    this.#unwatch = log.watch(({ id, at, wallAt, status, durationMs }) =>
      this.#resolve({ id, at, wallAt, status, durationMs }),
    );
  }

  /** How many are waited for. */
  get awaited(): number {
    return this.#awaited.size;
  }

  /** False: it is not a request, or its response is already known. It may be published at once. */
  wait(name: string): boolean {
    const number = Number(/^request:(\d+)$/.exec(name)?.[1] ?? 0);
    const answered = this.#known.get(number);
    if (answered) this.#onFinished(name, answered);
    else if (number <= this.#oldestKnown) return false;
    else this.#awaited.add(name);
    return true;
  }

  /** Another state was put in: it gives the same numbers once more. */
  forget(): void {
    this.#known.clear();
    this.#oldestKnown = 0;
  }

  close(): void {
    this.#unwatch();
    for (const name of this.#awaited) this.#onFinished(name, undefined);
    this.#awaited.clear();
  }

  #resolve(answered: RequestOutcome): void {
    const { id } = answered;
    this.#known.set(id, answered);
    if (this.#known.size > maxKnown) {
      const [oldest = id] = this.#known.keys();
      this.#known.delete(oldest);
      this.#oldestKnown = Math.max(this.#oldestKnown, oldest);
    }
    const name = `request:${id}`;
    if (this.#awaited.delete(name)) this.#onFinished(name, answered);
  }
}

/** Result of a request, as its line in the log has it. */
export type RequestOutcome = Pick<LoggedRequest, "id" | "at" | "wallAt" | "status" | "durationMs">;

/**
 * The response to the request that a cause is; undefined if none is known. Rows of causes hold none: they are written
 * before it is given, and a second write for each would be felt.
 */
export type FindRequestOutcome = (row: Pick<CauseRow, "id" | "at">) => RequestOutcome | undefined;
