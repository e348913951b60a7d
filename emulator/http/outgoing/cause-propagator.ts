import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Cause } from "../../store/cause.ts";

/** Names, from one listener of an emulator to another, the request that led to this one. It never leaves the process. */
const linkHeader = "x-svc-link";

/** Cause of a request that another listener sent. */
export interface CauseLink {
  readonly cause: Cause;
  /** Whether it was sent in a state that was left: nothing of it may reach another one. */
  isLeft(): boolean;
}

/**
 * Connects a request that a listener of this emulator sends to another one of its listeners with its cause. Each link
 * has a name that cannot be guessed, and is valid for one request: under such a name from elsewhere a header is like
 * any other.
 */
export class CausePropagator {
  readonly #own = new Set<string>();
  readonly #offered = new Map<string, CauseLink>();
  readonly #secret = randomBytes(16).toString("hex");
  #last = 0;
  /** How often another state has taken the place of the one in which requests were sent. */
  #replaced = 0;

  /** A listener of this emulator: `http://127.0.0.1:4011`. */
  add(origin: string): void {
    this.#own.add(origin);
  }

  /** The name under which a request may be sent there; undefined if another program listens. */
  createLink(origin: string, cause: Cause): string | undefined {
    if (!this.#own.has(origin)) return undefined;
    this.#last += 1;
    const name = `${this.#secret}-${this.#last}`;
    const since = this.#replaced;
    this.#offered.set(name, { cause, isLeft: () => this.#replaced !== since });
    return name;
  }

  /** The request has ended, whether its link was used or not. */
  end(name: string): void {
    this.#offered.delete(name);
  }

  /** Another state replaces the one in which requests were sent: pending ones belong to that. */
  abandon(): void {
    this.#replaced += 1;
    this.#offered.clear();
  }

  /** Whether a request was sent in a state that was left, or its sender has gone. */
  isAbandoned({ headers }: IncomingMessage): boolean {
    const names = headers[linkHeader];
    if (names === undefined) return false;
    const own = String(names)
      .split(", ")
      .find((name) => name.startsWith(`${this.#secret}-`));
    return own !== undefined && !this.#offered.has(own);
  }

  /** Cause of a received request; its header is removed. */
  extractLink({ headers, rawHeaders }: IncomingMessage): CauseLink | undefined {
    if (headers[linkHeader] === undefined) return undefined;
    const isLink = (i: number) => rawHeaders[i]?.toLowerCase() === linkHeader;
    // A caller may have sent a header of that name, too, which is not ours.
    const at = rawHeaders.findIndex((_, i) => i % 2 === 0 && isLink(i) && this.#offered.has(rawHeaders[i + 1] ?? ""));
    if (at < 0) return undefined;
    const [, name = ""] = rawHeaders.splice(at, 2);
    const others = rawHeaders.filter((_, i) => i % 2 === 1 && isLink(i - 1));
    if (others.length === 0) delete headers[linkHeader];
    else headers[linkHeader] = others.join(", ");
    const link = this.#offered.get(name);
    this.#offered.delete(name);
    return link;
  }
}

/** Spelling in requests. */
export const toLinkHeader = (name: string): readonly [header: string, value: string] => [linkHeader, name];
