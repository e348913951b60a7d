import type { Wall } from "../../../src/base/clock.ts";
import type { LoggedRequest } from "../../http/request-log/request-log.ts";

/** How long requests gather until the one that leads is told of them, and how many may wait for that. */
const gatherMs = 100;
const most = 10_000;

type Tell = (answered: readonly LoggedRequest[]) => Promise<boolean>;

/** Requests that this process has answered in the place of the one that leads, which keeps the one log of all. */
export class Answered {
  readonly #wall: Wall;
  readonly #tell: Tell;
  #waiting: LoggedRequest[] = [];
  #telling: Promise<void> | undefined;
  #gathering = false;

  /** `tell`: resolves with whether it has arrived. */
  constructor(wall: Wall, tell: Tell) {
    this.#wall = wall;
    this.#tell = tell;
  }

  add(request: LoggedRequest): void {
    this.#waiting.push(request);
    // The log drops its oldest, too.
    if (this.#waiting.length > most) this.#waiting.splice(0, most / 10);
    if (this.#gathering) return;
    this.#gathering = true;
    void this.#wall.sleep(gatherMs).then(() => {
      this.#gathering = false;
      return this.told();
    });
  }

  /** Resolves once all that was answered until now is in the log, or cannot be there. */
  async told(): Promise<void> {
    await this.#telling;
    if (this.#waiting.length === 0) return;
    const batch = this.#waiting;
    this.#waiting = [];
    this.#telling = this.#tell(batch).then((isTold) => {
      this.#telling = undefined;
      if (!isTold) this.#waiting = [...batch, ...this.#waiting].slice(-most);
    });
    await this.#telling;
  }

  /** This process leads: what waits is of a log that is gone. */
  clear(): void {
    this.#waiting = [];
  }
}
