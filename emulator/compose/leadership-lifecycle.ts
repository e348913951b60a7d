import { waitUntilAborted } from "../../src/base/on-abort.ts";
import { withTimeout } from "../../src/base/timing.ts";
import { StateFormatError, StoreFailedError } from "../store/port.ts";
import type { Leadership } from "../store/postgres/leadership.ts";
import { type LeaderSession, startLeaderSession } from "./leader-session.ts";
import type { ProcessContext } from "./process-context.ts";
import type { StateSource } from "./state-source.ts";

/** Delay before the next attempt to lead if the database is unreachable. */
const againMs = 500;

interface LifecycleOptions {
  readonly context: ProcessContext;
  /** Token of the control plane if the state has none yet. */
  readonly token: string;
  readonly abortSignal: AbortSignal;
  readonly leads: (leadership: Leadership) => void;
  /** Called when it serves a state again that another process led meanwhile. */
  readonly onRegained: () => void;
  readonly onError: (error: Error) => void;
}

/**
 * The life of a process whose state several processes share: it stands by, leads, loses leadership and stands by again.
 */
export class LeadershipLifecycle {
  readonly #options: LifecycleOptions;
  #term: LeaderSession | undefined;
  /** The current session, or the last one. */
  #latest: LeaderSession | undefined;
  #going: Promise<void> = Promise.resolve();
  readonly #watchers = new Set<(term: LeaderSession | undefined) => void>();

  constructor(options: LifecycleOptions) {
    this.#options = options;
  }

  /** Resolves when this process leads for the first time. Fails as a start does. */
  async begin(origin: StateSource | undefined): Promise<void> {
    const first = await this.#startSession(origin);
    if (first.leadership) this.#going = this.#followLeadership(first, first.leadership);
  }

  /** The current session. @throws {StoreFailedError} while another process leads. */
  get now(): LeaderSession {
    if (!this.#term)
      throw new StoreFailedError("Another process leads this store now. Requests to this one are forwarded to it");
    return this.#term;
  }

  /** The current session, or the last one. */
  get latest(): LeaderSession {
    return this.#latest ?? this.now;
  }

  /**
   * Calls the listener at once, and whenever this process starts or stops leading. Returns a function that removes the
   * listener.
   */
  watch(changed: (term: LeaderSession | undefined) => void): () => void {
    this.#watchers.add(changed);
    changed(this.#term);
    return () => void this.#watchers.delete(changed);
  }

  /** Ends the current session. Call it after the process must not lead any more. */
  async end(): Promise<void> {
    const term = this.#term;
    await term?.end();
    await this.#going;
  }

  async #followLeadership(first: LeaderSession, led: Leadership): Promise<void> {
    const { context, abortSignal, onRegained, onError } = this.#options;
    let term = first;
    for (let leadership = led; ; ) {
      await Promise.race([leadership.lost, waitUntilAborted(abortSignal)]);
      if (!leadership.isLost || abortSignal.aborted) return;
      context.standby?.standBy();
      context.log("another process leads this store now. Requests to this one are forwarded to it");
      this.#setSession(undefined);
      await term.abandon().catch((error) => context.log(String(error)));
      try {
        term = await this.#startSession(undefined);
      } catch (error) {
        if (!abortSignal.aborted) onError(error as Error);
        return;
      }
      leadership = term.leadership!;
      onRegained();
    }
  }

  /** Leads as soon as possible. After the first connection, database errors do not end the wait. */
  async #startSession(origin: StateSource | undefined): Promise<LeaderSession> {
    const { context, token, abortSignal, leads } = this.#options;
    const { standby, wall, log } = context;
    const hasLedBefore = this.#latest !== undefined;
    for (let reported: string | undefined; ; ) {
      let led: Leadership | undefined;
      const setLeadership = (now: Leadership) => {
        led = now;
        leads(now);
      };
      try {
        const term = await startLeaderSession(context, {
          origin,
          token,
          abortSignal,
          hasLedBefore,
          leads: setLeadership,
        });
        this.#setSession(term);
        return term;
      } catch (error) {
        // After a response from the database, it is known that another process leads.
        if (led && error instanceof StoreFailedError) await withTimeout(wall, againMs, led.lost);
        const isLasting = error instanceof StateFormatError || !(standby?.hasSeen || led?.isLost);
        if (!standby || isLasting || abortSignal.aborted) throw error;
        standby.standBy();
        if (reported !== String(error)) log(`This process cannot become the leader now: ${(error as Error).message}`);
        reported = String(error);
        await wall.sleep(againMs, abortSignal);
      }
    }
  }

  #setSession(term: LeaderSession | undefined): void {
    this.#term = term;
    if (term) this.#latest = term;
    for (const changed of this.#watchers) changed(term);
  }
}
