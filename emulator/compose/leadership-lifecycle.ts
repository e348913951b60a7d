import { Emitter, waitUntilAborted } from "../../src/base/concurrency.ts";
import { withTimeout } from "../../src/base/timing.ts";
import { StateFormatError, StoreFailedError } from "../store/port.ts";
import type { Leadership } from "../store/postgres/leadership.ts";
import { type LeaderSession, startLeaderSession } from "./leader-session.ts";
import type { ProcessContext } from "./process-context.ts";
import type { StateSource } from "./state-source.ts";

/** Delay before the next attempt to lead if the database is unreachable. */
const retryDelayMs = 500;

interface LifecycleHooks {
  readonly onLeading: (leadership: Leadership) => void;
  readonly onError: (error: Error) => void;
}

/** A process that shares its state stands by, leads, loses leadership and stands by again. */
export class LeadershipLifecycle {
  readonly #context: ProcessContext;
  readonly #hooks: LifecycleHooks;
  #term: LeaderSession | undefined;
  /** The current session, or the last session. */
  #latest: LeaderSession | undefined;
  #following: Promise<void> = Promise.resolve();
  readonly #changes = new Emitter<[term: LeaderSession | undefined]>();

  constructor(context: ProcessContext, hooks: LifecycleHooks) {
    this.#context = context;
    this.#hooks = hooks;
  }

  /** Resolves when this process leads for the first time. Fails as a start does. */
  async begin(origin: StateSource | undefined): Promise<void> {
    const session = await this.#startSession(origin);
    if (session.leadership) this.#following = this.#followLeadership(session, session.leadership);
  }

  /** The current session. @throws {StoreFailedError} while another process leads. */
  get current(): LeaderSession {
    if (!this.#term)
      throw new StoreFailedError("Another process leads this store now. Requests to this one are forwarded to it");
    return this.#term;
  }

  /** The current session, or the last session. */
  get latest(): LeaderSession {
    return this.#latest ?? this.current;
  }

  /** Calls the listener at once and at each change. Returns a function that removes it. */
  watch(listener: (term: LeaderSession | undefined) => void): () => void {
    listener(this.#term);
    return this.#changes.watch(listener);
  }

  /** Ends the current session. Call it after the process must not lead any more. */
  async end(): Promise<void> {
    const term = this.#term;
    await term?.end();
    await this.#following;
  }

  async #followLeadership(firstTerm: LeaderSession, firstLeadership: Leadership): Promise<void> {
    const { abortSignal, standby, log, options } = this.#context;
    let term = firstTerm;
    for (let leadership = firstLeadership; ; ) {
      await Promise.race([leadership.lost, waitUntilAborted(abortSignal)]);
      if (!leadership.isLost || abortSignal.aborted) return;
      standby?.standBy();
      log("another process leads this store now. Requests to this one are forwarded to it");
      this.#setSession(undefined);
      await term.abandon().catch((error) => log(String(error)));
      try {
        term = await this.#startSession(undefined);
      } catch (error) {
        if (!abortSignal.aborted) this.#hooks.onError(error as Error);
        return;
      }
      leadership = term.leadership!;
      options.onLeadershipRegained?.();
    }
  }

  /** Leads as soon as possible. After the first connection, database errors do not end the wait. */
  async #startSession(origin: StateSource | undefined): Promise<LeaderSession> {
    const { abortSignal, standby, wall, log } = this.#context;
    const isTakeover = () => this.#latest !== undefined || (standby?.hasSeenLeader ?? false);
    for (let lastReport: string | undefined; ; ) {
      let leadership: Leadership | undefined;
      const onLeading = (newLeadership: Leadership) => {
        leadership = newLeadership;
        this.#hooks.onLeading(newLeadership);
      };
      try {
        const term = await startLeaderSession(this.#context, { origin, isTakeover, onLeading });
        this.#setSession(term);
        return term;
      } catch (error) {
        // A response from the database shows that another process leads.
        if (leadership && error instanceof StoreFailedError) await withTimeout(wall, retryDelayMs, leadership.lost);
        const isLasting = error instanceof StateFormatError || !(standby?.hasSeenLeader || leadership?.isLost);
        // All processes start with the same options, and the first one has stored the initial state.
        if (origin && standby?.hasSeenLeader && error instanceof StateFormatError) {
          log("The initial state was not used, because the store already contains a state");
          return this.#startSession(undefined);
        }
        if (!standby || isLasting || abortSignal.aborted) throw error;
        standby.standBy();
        if (lastReport !== String(error)) log(`This process cannot become the leader now: ${(error as Error).message}`);
        lastReport = String(error);
        await wall.sleep(retryDelayMs, abortSignal);
      }
    }
  }

  #setSession(term: LeaderSession | undefined): void {
    this.#term = term;
    if (term) this.#latest = term;
    this.#changes.emit(term);
  }
}
