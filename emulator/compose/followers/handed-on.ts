import * as z from "zod";
import { hash } from "../../../src/base/hmac.ts";
import { KeptSessions, type Sessions } from "../../control/console/sessions.ts";
import { type Faults, KeptFaults } from "../../faults/faults.ts";
import type { LeadersMemory } from "../../store/postgres/leaders-memory.ts";

const name = "handed on";

const Kept = z.strictObject({
  faults: KeptFaults,
  sessions: KeptSessions,
  /** SHA-256 of the token of the control plane: a session of an earlier one has ended with it. */
  token: z.string(),
});

interface Options {
  readonly memory: LeadersMemory;
  readonly faults: Faults;
  readonly sessions: Sessions;
  /** Of the control plane. */
  readonly token: string;
  readonly log: (line: string) => void;
}

/** What one that leads has in memory and the next one goes on with: scripted faults with their hits, and sessions. */
export class HandedOn {
  readonly #options: Options;
  readonly #token: string;
  /** The newest write, which has all that has changed until now, and how many are not through. */
  #newest: Promise<void> = Promise.resolve();
  #under = 0;
  /** Whether that one has not begun: what changes until then is in it. */
  #isToBegin = false;
  #hasFailed = false;

  private constructor(options: Options) {
    this.#options = options;
    this.#token = hash("sha256", options.token).toString("base64");
  }

  /** Goes on from what the one before has left, and keeps what changes from now on. */
  static async take(options: Options): Promise<HandedOn> {
    const { memory, faults, sessions, log } = options;
    const handedOn = new HandedOn(options);
    const left = await memory.read(name);
    const { data } = Kept.safeParse(left);
    if (data) {
      faults.takeOver(data.faults);
      const isThere = ({ opener }: { opener: { hash: string | null } }) =>
        opener.hash !== null || data.token === handedOn.#token;
      sessions.takeOver({
        codes: data.sessions.codes.filter(isThere),
        sessions: data.sessions.sessions.filter(isThere),
      });
    } else if (left !== undefined) {
      log("what is scripted and who is signed in was kept in a form that this version does not know: it is left out");
    }
    faults.watch(() => handedOn.#changed());
    sessions.watch(() => handedOn.#changed());
    return handedOn;
  }

  /** Resolves once what has changed until now is kept; undefined: it is. Fails with StoreFailed. */
  written(): Promise<void> | undefined {
    return this.#under > 0 ? this.#newest : undefined;
  }

  /** Tries once more where the last attempt failed. */
  async end(): Promise<void> {
    if (this.#hasFailed) this.#changed();
    await this.#newest.catch(() => {});
  }

  #changed(): void {
    if (this.#isToBegin) return;
    this.#isToBegin = true;
    this.#under += 1;
    this.#newest = this.#writeAfter(this.#newest);
    // Whoever has to know asks for `written`.
    this.#newest.catch(() => {});
  }

  async #writeAfter(before: Promise<void>): Promise<void> {
    await before.catch(() => {});
    this.#isToBegin = false;
    const { memory, faults, sessions } = this.#options;
    try {
      await memory.write(name, { faults: faults.kept(), sessions: sessions.kept(), token: this.#token });
      this.#hasFailed = false;
    } catch (error) {
      this.#hasFailed = true;
      throw error;
    } finally {
      this.#under -= 1;
    }
  }
}
