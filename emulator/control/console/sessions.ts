import * as z from "zod";
import { controlRoles } from "../../../src/api/control-roles.ts";
import type { Wall } from "../../../src/base/clock.ts";
import { hash } from "../../../src/base/hmac.ts";
import type { Ids } from "../../../src/base/ids.ts";
import type { Bearer } from "../access/bearer.ts";

/** How long a code may be exchanged, wall time: a browser may have to be started first. */
export const codeLifeMs = 60_000;

/** So many wait or go on; beyond that the oldest end. */
const codesKept = 20;
const sessionsKept = 50;

const KeptBearer = z.strictObject({ name: z.string(), role: z.enum(controlRoles), hash: z.string().nullable() });

/** Who is signed in, and who is about to, as plain data: hashes in the place of secrets. */
export const KeptSessions = z.strictObject({
  codes: z.array(z.strictObject({ hash: z.string(), until: z.int(), opener: KeptBearer })),
  sessions: z.array(z.strictObject({ hash: z.string(), opener: KeptBearer })),
});
export type KeptSessions = z.infer<typeof KeptSessions>;

/**
 * The browsers that are signed in to the console of one emulator, in memory: they are signed out when it ends, unless
 * another process goes on with it. Secrets are kept as their hashes, so that looking one up tells nothing by the time it
 * takes.
 */
export class Sessions {
  readonly #ids: Pick<Ids, "token">;
  readonly #wall: Wall;
  /** Until when each may be exchanged, by the time of day (another process may go on), and whose it is; oldest first. */
  readonly #codes = new Map<string, { readonly until: number; readonly opener: Bearer }>();
  /** With the token that each was opened with; oldest first. */
  readonly #sessions = new Map<string, Bearer>();
  readonly #watchers = new Set<() => void>();

  constructor(ids: Pick<Ids, "token">, wall: Wall) {
    this.#ids = ids;
    this.#wall = wall;
  }

  /** A code that signs in once, as the owner of that token. */
  newCode({ name, role, hash }: Bearer): string {
    const code = this.#ids.token(32);
    this.#codes.set(nameOf(code), { until: this.#wall.now() + codeLifeMs, opener: { name, role, hash } });
    dropOldest(this.#codes, codesKept);
    this.#tell();
    return code;
  }

  /** The token of a new session, and what it may do; undefined where the code was used, is too old, or is none. */
  begin(code: string): { readonly token: string; readonly role: Bearer["role"] } | undefined {
    const found = this.#codes.get(nameOf(code));
    if (this.#codes.delete(nameOf(code))) this.#tell();
    if (found === undefined || this.#wall.now() >= found.until) return undefined;
    const token = this.#ids.token(32);
    this.#sessions.set(nameOf(token), found.opener);
    dropOldest(this.#sessions, sessionsKept);
    return { token, role: found.opener.role };
  }

  /** The token that a session was opened with; undefined where there is no such session. */
  openerOf(token: string): Bearer | undefined {
    return this.#sessions.get(nameOf(token));
  }

  end(token: string): void {
    this.#sessions.delete(nameOf(token));
    this.#tell();
  }

  /** Signs everybody out, and who is about to sign in. */
  endAll(): void {
    this.#sessions.clear();
    this.#codes.clear();
    this.#tell();
  }

  /** The same of those whom one token let in. */
  endAllOf({ hash }: Pick<Bearer, "hash">): void {
    for (const [name, opener] of this.#sessions) if (opener.hash === hash) this.#sessions.delete(name);
    for (const [name, { opener }] of this.#codes) if (opener.hash === hash) this.#codes.delete(name);
    this.#tell();
  }

  /** All of it as it is now; `takeOver` goes on from there. */
  kept(): KeptSessions {
    return {
      codes: [...this.#codes].map(([hash, { until, opener }]) => ({ hash, until, opener: keptBearer(opener) })),
      sessions: [...this.#sessions].map(([hash, opener]) => ({ hash, opener: keptBearer(opener) })),
    };
  }

  takeOver({ codes, sessions }: KeptSessions): void {
    this.endAll();
    for (const { hash, until, opener } of codes) this.#codes.set(hash, { until, opener: bearerOf(opener) });
    for (const { hash, opener } of sessions) this.#sessions.set(hash, bearerOf(opener));
  }

  /** Calls when there are others. Returns the function that ends it. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  #tell(): void {
    for (const changed of this.#watchers) changed();
  }
}

const keptBearer = ({ name, role, hash }: Bearer) => ({ name, role, hash: hash ?? null });
const bearerOf = ({ hash, ...rest }: z.infer<typeof KeptBearer>): Bearer => ({ ...rest, hash: hash ?? undefined });

const nameOf = (secret: string): string => hash("sha256", secret).toString("base64");

function dropOldest(all: Map<string, unknown>, most: number): void {
  for (const name of all.keys()) {
    if (all.size <= most) return;
    all.delete(name);
  }
}
