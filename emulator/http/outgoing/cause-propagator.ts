import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Cause } from "../../store/cause.ts";

/**
 * The header by which one listener of an emulator names to another the request that caused this one. It never leaves
 * the process.
 */
const linkHeader = "x-svc-link";

/** Cause of a request that another listener sent. */
export interface CauseLink {
  readonly cause: Cause;
  /** Whether it was sent in a replaced state. Nothing of it may change the present one. */
  isLeft(): boolean;
}

/**
 * Connects a request between two listeners of this emulator with its cause. Each link has a random name that is valid
 * for one request, so a header from outside has no effect.
 */
export class CausePropagator {
  readonly #own = new Set<string>();
  readonly #offered = new Map<string, CauseLink>();
  readonly #secret = randomBytes(16).toString("hex");
  #last = 0;
  /** The number of state replacements. */
  #replaced = 0;

  /** A listener of this emulator: `http://127.0.0.1:4011`. */
  add(origin: string): void {
    this.#own.add(origin);
  }

  /** The link name for a request to that origin. Undefined if it belongs to another program. */
  createLink(origin: string, cause: Cause): string | undefined {
    if (!this.#own.has(origin)) return undefined;
    this.#last += 1;
    const name = `${this.#secret}-${this.#last}`;
    const since = this.#replaced;
    this.#offered.set(name, { cause, isLeft: () => this.#replaced !== since });
    return name;
  }

  /** Removes the link of an ended request, used or not. */
  end(name: string): void {
    this.#offered.delete(name);
  }

  /** Another state replaces the present one, and pending requests belong to the old one. */
  abandon(): void {
    this.#replaced += 1;
    this.#offered.clear();
  }

  /** Whether a request was sent in a replaced state, or its sender has ended. */
  isAbandoned({ headers }: IncomingMessage): boolean {
    const names = headers[linkHeader];
    if (names === undefined) return false;
    const own = String(names)
      .split(", ")
      .find((name) => name.startsWith(`${this.#secret}-`));
    return own !== undefined && !this.#offered.has(own);
  }

  /** The cause of a received request. Its header is removed. */
  extractLink({ headers, rawHeaders }: IncomingMessage): CauseLink | undefined {
    if (headers[linkHeader] === undefined) return undefined;
    const isLink = (i: number) => rawHeaders[i]?.toLowerCase() === linkHeader;
    // A client may have sent a header with that name too.
    const at = rawHeaders.findIndex((_, i) => i % 2 === 0 && isLink(i) && this.#offered.has(rawHeaders[i + 1] ?? ""));
    if (at < 0) return undefined;
    const [, name = ""] = rawHeaders.splice(at, 2);
    const foreign = rawHeaders.filter((_, i) => i % 2 === 1 && isLink(i - 1));
    if (foreign.length === 0) delete headers[linkHeader];
    else headers[linkHeader] = foreign.join(", ");
    const link = this.#offered.get(name);
    this.#offered.delete(name);
    return link;
  }
}

/** The spelling in requests. */
export const toLinkHeader = (name: string): readonly [header: string, value: string] => [linkHeader, name];
