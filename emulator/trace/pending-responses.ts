import type { LoggedRequest, RequestLog } from "../http/request-log/request-log.ts";

const maxKnownOutcomes = 2_048;

/** Requests whose rows exist and whose responses are still pending. A row is durable before the response is sent. */
export class PendingResponses {
  readonly #onFinished: (name: string, outcome: RequestOutcome | undefined) => void;
  readonly #unwatch: () => void;
  readonly #pendingNames = new Set<string>();
  readonly #outcomes = new Map<number, RequestOutcome>();
  /** The number up to which outcomes are forgotten. Those requests are complete. */
  #lastForgotten: number;

  /** At the end, the remaining requests are published without a response. */
  constructor(log: RequestLog, onFinished: (name: string, outcome: RequestOutcome | undefined) => void) {
    this.#onFinished = onFinished;
    this.#lastForgotten = log.lastNumber;
    this.#unwatch = log.watch(({ id, at, wallAt, status, durationMs }) =>
      this.#resolve({ id, at, wallAt, status, durationMs }),
    );
  }

  get pendingCount(): number {
    return this.#pendingNames.size;
  }

  /** Returns false if the name is not a request, or if its response is no longer awaited. */
  wait(name: string): boolean {
    const number = Number(/^request:(\d+)$/.exec(name)?.[1] ?? 0);
    const outcome = this.#outcomes.get(number);
    if (outcome) this.#onFinished(name, outcome);
    else if (number <= this.#lastForgotten) return false;
    else this.#pendingNames.add(name);
    return true;
  }

  /** Numbers of requests occur again after the state is replaced. */
  forget(): void {
    this.#outcomes.clear();
    this.#lastForgotten = 0;
  }

  close(): void {
    this.#unwatch();
    for (const name of this.#pendingNames) this.#onFinished(name, undefined);
    this.#pendingNames.clear();
  }

  #resolve(outcome: RequestOutcome): void {
    const { id } = outcome;
    this.#outcomes.set(id, outcome);
    if (this.#outcomes.size > maxKnownOutcomes) {
      const [oldest = id] = this.#outcomes.keys();
      this.#outcomes.delete(oldest);
      this.#lastForgotten = Math.max(this.#lastForgotten, oldest);
    }
    const name = `request:${id}`;
    if (this.#pendingNames.delete(name)) this.#onFinished(name, outcome);
  }
}

export type RequestOutcome = Pick<LoggedRequest, "id" | "at" | "wallAt" | "status" | "durationMs">;
