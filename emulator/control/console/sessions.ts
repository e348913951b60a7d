import type { Wall } from "../../../src/base/clock.ts";
import { hash } from "../../../src/base/hmac.ts";
import type { Ids } from "../../../src/base/ids.ts";

/** How long a code may be exchanged, wall time: a browser may have to be started first. */
export const codeLifeMs = 60_000;

/** So many wait or go on; beyond that the oldest end. */
const codesKept = 20;
const sessionsKept = 50;

/**
 * The browsers that are signed in to the console of one emulator, in memory: they are signed out when it ends. Secrets are
 * kept as their hashes, so that looking one up tells nothing by the time it takes.
 */
export class Sessions {
  readonly #ids: Pick<Ids, "token">;
  readonly #wall: Wall;
  /** Until when each may be exchanged, wall milliseconds; oldest first. */
  readonly #codes = new Map<string, number>();
  /** Oldest first. */
  readonly #sessions = new Set<string>();

  constructor(ids: Pick<Ids, "token">, wall: Wall) {
    this.#ids = ids;
    this.#wall = wall;
  }

  /** A code that signs in once. */
  newCode(): string {
    const code = this.#ids.token(32);
    this.#codes.set(nameOf(code), this.#wall.now() + codeLifeMs);
    dropOldest(this.#codes, codesKept);
    return code;
  }

  /** The token of a new session; undefined where the code was used, is too old, or is none. */
  begin(code: string): string | undefined {
    const until = this.#codes.get(nameOf(code));
    this.#codes.delete(nameOf(code));
    if (until === undefined || this.#wall.now() >= until) return undefined;
    const token = this.#ids.token(32);
    this.#sessions.add(nameOf(token));
    dropOldest(this.#sessions, sessionsKept);
    return token;
  }

  has(token: string): boolean {
    return this.#sessions.has(nameOf(token));
  }

  end(token: string): void {
    this.#sessions.delete(nameOf(token));
  }

  /** Signs everybody out, and who is about to sign in. */
  endAll(): void {
    this.#sessions.clear();
    this.#codes.clear();
  }
}

const nameOf = (secret: string): string => hash("sha256", secret).toString("base64");

function dropOldest(all: Map<string, unknown> | Set<string>, most: number): void {
  for (const name of all.keys()) {
    if (all.size <= most) return;
    all.delete(name);
  }
}
