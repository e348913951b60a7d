import type { ControlRole } from "../../../src/api/control-plane.ts";
import type { WallClock } from "../../../src/base/clock.ts";
import { Emitter } from "../../../src/base/concurrency.ts";
import { hash, isEqualInConstantTime } from "../../../src/base/hmac.ts";
import type { Ids } from "../../../src/base/ids.ts";

/** Lifetime of a code, in wall-clock time. The browser may have to start first. */
export const codeLifetimeMs = 60_000;

/** Lifetime of a browser session, in wall-clock time. It covers a working day. */
export const sessionLifetimeMs = 12 * 3_600_000;

/** Maximum number of codes and of sessions per token. The oldest ones of the token end first. */
const maxCodes = 20;
const maxSessions = 50;

interface Session {
  readonly key: string;
  readonly expiresAtMs: number;
  readonly opener: ControlTokenInfo;
}

/** Returns the name of a session's cookie. It is unique, because all ports of a machine share their cookies. */
export const getCookieName = (token: string): string =>
  `svc_console_${hash("sha256", token).toString("hex").slice(0, 16)}`;

/** Browser sessions in memory. Secrets are stored as hashes, so the time of a look-up reveals nothing. */
export class ConsoleSessions {
  readonly #ids: Pick<Ids, "token">;
  readonly #wall: WallClock;
  /** Expiry of each code in milliseconds of the monotonic clock, and its opener. The oldest code comes first. */
  readonly #codes = new Map<string, { readonly expiresAtMs: number; readonly opener: ControlTokenInfo }>();
  readonly #sessions = new Map<string, Session>();
  readonly #changes = new Emitter();
  readonly watch = this.#changes.watch;

  constructor(ids: Pick<Ids, "token">, wall: WallClock) {
    this.#ids = ids;
    this.#wall = wall;
  }

  /** Returns a code for a single sign-in as the owner of that token. */
  createCode({ name, role, hash }: ControlTokenInfo): string {
    const code = this.#ids.token(32);
    this.#codes.set(hashSecret(code), {
      expiresAtMs: this.#wall.monotonicNow() + codeLifetimeMs,
      opener: { name, role, hash },
    });
    dropOldest(this.#codes, hash, maxCodes);
    this.#changes.emit();
    return code;
  }

  /**
   * Returns a new session, or undefined if the code was used, has expired, or is invalid. Both halves are required to
   * use it: the token, which the page's script sends, and the key in a cookie that scripts cannot read (DECISIONS.md,
   * E13).
   */
  begin(code: string) {
    const entry = this.#codes.get(hashSecret(code));
    if (this.#codes.delete(hashSecret(code))) this.#changes.emit();
    if (entry === undefined || this.#wall.monotonicNow() >= entry.expiresAtMs) return undefined;
    const [token, key] = [this.#ids.token(32), this.#ids.token(32)];
    const expiresAtMs = this.#wall.monotonicNow() + sessionLifetimeMs;
    this.#sessions.set(hashSecret(token), { key: hashSecret(key), expiresAtMs, opener: entry.opener });
    dropOldest(this.#sessions, entry.opener.hash, maxSessions);
    this.#changes.emit();
    return { token, key, role: entry.opener.role };
  }

  /** Returns undefined if there is no such session, or if the key does not match. */
  findOpener(token: string, key: string): ControlTokenInfo | undefined {
    const session = this.#findSession(token);
    return session && isEqualInConstantTime(hashSecret(key), session.key) ? session.opener : undefined;
  }

  /** Returns the expiry of a session in milliseconds of the monotonic clock, or undefined if the session has ended. */
  getExpiryMs(token: string): number | undefined {
    return this.#findSession(token)?.expiresAtMs;
  }

  end(token: string): void {
    this.#sessions.delete(hashSecret(token));
    this.#changes.emit();
  }

  endAll(): void {
    this.#sessions.clear();
    this.#codes.clear();
    this.#changes.emit();
  }

  endAllOf({ hash }: Pick<ControlTokenInfo, "hash">): void {
    for (const [name, { opener }] of this.#sessions) if (opener.hash === hash) this.#sessions.delete(name);
    for (const [name, { opener }] of this.#codes) if (opener.hash === hash) this.#codes.delete(name);
    this.#changes.emit();
  }

  #findSession(token: string): Session | undefined {
    const session = this.#sessions.get(hashSecret(token));
    if (session === undefined || this.#wall.monotonicNow() < session.expiresAtMs) return session;
    this.#sessions.delete(hashSecret(token));
    return undefined;
  }
}

const hashSecret = (secret: string): string => hash("sha256", secret).toString("base64");

function dropOldest(
  entries: Map<string, { readonly opener: ControlTokenInfo }>,
  openerHash: ControlTokenInfo["hash"],
  maxSessions: number,
): void {
  const ownSessions = [...entries].filter(([, { opener }]) => opener.hash === openerHash);
  for (const [name] of ownSessions.slice(0, Math.max(0, ownSessions.length - maxSessions))) entries.delete(name);
}

/** A token of the control plane, without its secret. */
export interface ControlTokenInfo {
  readonly name: string;
  readonly role: ControlRole;
  /** Undefined for the token in the run file, which is valid as long as the emulator runs. */
  readonly hash: string | undefined;
  /** The only workspace of the token. Undefined for all workspaces and shared data. */
  readonly workspace?: { readonly id: number; readonly name: string } | undefined;
}

/** The caller of the control plane: a program with a token, or a browser that was signed in with a token. */
export interface ControlCaller {
  readonly token: ControlTokenInfo;
  /** Token of the console session. Undefined for a caller with a control token. */
  readonly session: string | undefined;
}
