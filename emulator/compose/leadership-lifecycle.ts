import { withTimeout } from "../../src/base/timing.ts";
import { StateFormatError, StoreFailedError } from "../store/port.ts";
import type { Leadership } from "../store/postgres/leadership.ts";
import { type LeaderSession, type ProcessContext, startLeaderSession } from "./leader-session.ts";
import type { StateSource } from "./state-source.ts";

/** Delay before the next attempt to lead, if the database is away. */
const againMs = 500;

interface Options {
  readonly context: ProcessContext;
  /** Token of the control plane, if the state has none yet. */
  readonly token: string;
  /** Aborted: it is no longer to lead. */
  readonly unwanted: AbortSignal;
  /** Called as soon as this process leads, before it serves anything. */
  readonly leads: (leadership: Leadership) => void;
  /** Called once it serves a state again that another process led meanwhile. */
  readonly again: () => void;
  /** Called with the reason why this process can no longer lead. */
  readonly refused: (error: Error) => void;
}

/** Life of one process with a state that several share: it stands by, leads, loses that, stands by and leads again. */
export class LeadershipLifecycle {
  readonly #options: Options;
  #term: LeaderSession | undefined;
  /** The present one, or the last. */
  #latest: LeaderSession | undefined;
  #going: Promise<void> = Promise.resolve();
  readonly #watchers = new Set<(term: LeaderSession | undefined) => void>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Resolves once this process leads for the first time. Fails as a start does. */
  async begin(origin: StateSource | undefined): Promise<void> {
    const first = await this.#startSession(origin);
    if (first.leadership) this.#going = this.#followLeadership(first, first.leadership);
  }

  /** The present one. @throws {StoreFailedError} while another process leads. */
  get now(): LeaderSession {
    if (!this.#term)
      throw new StoreFailedError("Another process leads this store now. Requests to this one are forwarded to it");
    return this.#term;
  }

  /** The present one, or the last. */
  get latest(): LeaderSession {
    return this.#latest ?? this.now;
  }

  /** Calls at once, and whenever this process begins to lead, or ends to. Returns the function that ends it. */
  watch(changed: (term: LeaderSession | undefined) => void): () => void {
    this.#watchers.add(changed);
    changed(this.#term);
    return () => void this.#watchers.delete(changed);
  }

  /** Ends the present one; called once it is no longer to lead. */
  async end(): Promise<void> {
    const term = this.#term;
    await term?.end();
    await this.#going;
  }

  async #followLeadership(first: LeaderSession, led: Leadership): Promise<void> {
    const { context, unwanted, again, refused } = this.#options;
    let term = first;
    for (let leadership = led; ; ) {
      await Promise.race([leadership.lost, aborted(unwanted)]);
      if (!leadership.isLost || unwanted.aborted) return;
      context.standby?.standBy();
      context.log("another process leads this store now. Requests to this one are forwarded to it");
      this.#setSession(undefined);
      await term.giveUp().catch((error) => context.log(String(error)));
      try {
        term = await this.#startSession(undefined);
      } catch (error) {
        if (!unwanted.aborted) refused(error as Error);
        return;
      }
      leadership = term.leadership!;
      again();
    }
  }

  /** Leads as soon as that is possible. Once the database was reached, no trouble of it ends the waiting. */
  async #startSession(origin: StateSource | undefined): Promise<LeaderSession> {
    const { context, token, unwanted, leads } = this.#options;
    const { standby, wall, log } = context;
    const isAgain = this.#latest !== undefined;
    for (let told: string | undefined; ; ) {
      let led: Leadership | undefined;
      const toldLeads = (now: Leadership) => {
        led = now;
        leads(now);
      };
      try {
        const term = await startLeaderSession(context, { origin, token, unwanted, isAgain, leads: toldLeads });
        this.#setSession(term);
        return term;
      } catch (error) {
        // As soon as the database has answered, it is known that another process leads.
        if (led && error instanceof StoreFailedError) await withTimeout(wall, againMs, led.lost);
        const isLasting = error instanceof StateFormatError || !(standby?.hasSeen || led?.isLost);
        if (!standby || isLasting || unwanted.aborted) throw error;
        standby.standBy();
        if (told !== String(error)) log(`cannot lead now: ${(error as Error).message}`);
        told = String(error);
        await wall.sleep(againMs, unwanted);
      }
    }
  }

  #setSession(term: LeaderSession | undefined): void {
    this.#term = term;
    if (term) this.#latest = term;
    for (const changed of this.#watchers) changed(term);
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
