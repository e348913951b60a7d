import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Cause } from "../../store/port.ts";
import { setRequestHeader } from "../hop-by-hop.ts";

/** Header that names the cause of a request between listeners of this emulator. It never leaves the process. */
const linkHeader = "x-svc-link";

/** Cause of a request that another listener sent. */
export interface CauseLink {
  readonly cause: Cause;
  /** Returns whether the state of the request was replaced. It must not change the current state. */
  isStateReplaced(): boolean;
}

/**
 * Connects a request between two listeners of this emulator with its cause. Each link has a random name that is valid
 * for one request, so a header from outside has no effect.
 */
export class CausePropagator {
  readonly #ownOrigins = new Set<string>();
  readonly #openLinks = new Map<string, CauseLink>();
  readonly #secret = randomBytes(16).toString("hex");
  #lastNumber = 0;
  /** Number of state replacements. */
  #replacementCount = 0;

  /** Adds the origin of a listener of this emulator: `http://127.0.0.1:4011`. */
  add(origin: string): void {
    this.#ownOrigins.add(origin);
  }

  /** Creates the header for a request to an own origin, or undefined. `end` must be called after the request. */
  createLink(origin: string, cause: Cause): { readonly header: readonly string[]; end(): void } | undefined {
    if (!this.#ownOrigins.has(origin)) return undefined;
    this.#lastNumber += 1;
    const name = `${this.#secret}-${this.#lastNumber}`;
    const countAtCreation = this.#replacementCount;
    this.#openLinks.set(name, { cause, isStateReplaced: () => this.#replacementCount !== countAtCreation });
    return { header: [linkHeader, name], end: () => this.#openLinks.delete(name) };
  }

  /** Marks pending requests as abandoned, because another state replaces theirs. */
  abandon(): void {
    this.#replacementCount += 1;
    this.#openLinks.clear();
  }

  /** Returns whether a request was sent in a replaced state, or its sender has ended. */
  isAbandoned({ headers }: IncomingMessage): boolean {
    const name = String(headers[linkHeader]);
    return name.startsWith(`${this.#secret}-`) && !this.#openLinks.has(name);
  }

  /** Returns the cause of a received request and removes its header. */
  extractLink(request: IncomingMessage): CauseLink | undefined {
    const name = String(request.headers[linkHeader]);
    const link = this.#openLinks.get(name);
    if (!link) return undefined;
    setRequestHeader(request, linkHeader);
    this.#openLinks.delete(name);
    return link;
  }
}
