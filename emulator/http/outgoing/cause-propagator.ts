import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Cause } from "../../store/cause.ts";
import { setRequestHeader } from "../hop-by-hop.ts";

/**
 * Header by which a listener identifies the cause of a request to another listener of the same emulator. It never
 * leaves the process.
 */
const linkHeader = "x-svc-link";

/** Cause of a request that another listener sent. */
export interface CauseLink {
  readonly cause: Cause;
  /**
   * Returns whether the request was sent in a state that has been replaced. Such a request must not change the current
   * state.
   */
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

  /**
   * Creates the name of a link for a request to an origin. Returns undefined if the origin belongs to another program.
   */
  createLink(origin: string, cause: Cause): string | undefined {
    if (!this.#ownOrigins.has(origin)) return undefined;
    this.#lastNumber += 1;
    const name = `${this.#secret}-${this.#lastNumber}`;
    const countAtCreation = this.#replacementCount;
    this.#openLinks.set(name, { cause, isStateReplaced: () => this.#replacementCount !== countAtCreation });
    return name;
  }

  /** Removes the link of an ended request, whether or not it was used. */
  end(name: string): void {
    this.#openLinks.delete(name);
  }

  /** Marks pending requests as abandoned, because another state replaces theirs. */
  abandon(): void {
    this.#replacementCount += 1;
    this.#openLinks.clear();
  }

  /** Returns whether a request was sent in a replaced state, or its sender has ended. */
  isAbandoned(request: IncomingMessage): boolean {
    const ownName = listLinks(request).find((name) => name.startsWith(`${this.#secret}-`));
    return ownName !== undefined && !this.#openLinks.has(ownName);
  }

  /** Returns the cause of a received request and removes its header. */
  extractLink(request: IncomingMessage): CauseLink | undefined {
    // A client can also send a header of that name.
    const links = listLinks(request);
    const name = links.find((link) => this.#openLinks.has(link));
    if (name === undefined) return undefined;
    const otherLinks = links.filter((link) => link !== name);
    setRequestHeader(request, linkHeader, otherLinks.length === 0 ? undefined : otherLinks.join(", "));
    const link = this.#openLinks.get(name);
    this.#openLinks.delete(name);
    return link;
  }
}

const listLinks = ({ headers }: IncomingMessage): readonly string[] =>
  headers[linkHeader] === undefined ? [] : String(headers[linkHeader]).split(", ");

/** Returns the header as it is sent. */
export const toLinkHeader = (name: string): readonly [header: string, value: string] => [linkHeader, name];
