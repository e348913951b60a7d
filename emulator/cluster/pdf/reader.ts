import type { Wall } from "../../../src/base/clock.ts";
import { late, within } from "../../../src/base/within.ts";
import { limits, takesTooLong } from "./limits.ts";
import type { Reading, Task } from "./reading.ts";
import { ReadingProcess } from "./reading-process.ts";
import { leaveSpare, takeSpare } from "./spare.ts";

export const busy = Symbol("busy");

/**
 * Reads PDFs in another process, one at a time in the order in which they come. The process is started by the first
 * file, unless an earlier reader left its own, and replaced after one that met a limit.
 */
export class PdfReader {
  readonly #wall: Wall;
  readonly #waiting: Waiting[] = [];
  #isReading = false;
  #isClosed = false;
  #process: ReadingProcess | undefined;

  constructor(wall: Wall) {
    this.#wall = wall;
  }

  /** `busy`: too many files wait, or this one has waited too long. Rejects when no process can be started. */
  async read(goal: Task["goal"], file: Uint8Array): Promise<Reading | typeof busy> {
    if (!(await this.#turn(file.length))) return busy;
    try {
      return await this.#readNow({ goal, file });
    } catch (error) {
      if (this.#isClosed) return busy;
      throw error;
    } finally {
      const next = this.#waiting.shift();
      this.#isReading = next !== undefined;
      next?.leave(true);
    }
  }

  /** Ends the process, or leaves it to the next reader; what waits is told that it is busy. */
  close(): void {
    this.#isClosed = true;
    if (this.#isReading) this.#process?.end();
    else if (this.#process?.isFit) leaveSpare(this.#process);
    this.#process = undefined;
    for (const waiting of this.#waiting.splice(0)) waiting.leave(false);
  }

  async #readNow(task: Task): Promise<Reading> {
    const process = await this.#fitProcess();
    const { isFresh } = process;
    const reading = await within(this.#wall, limits.timeMs, process.read(task));
    if (reading === late) {
      process.end();
      return { problem: takesTooLong };
    }
    // It may have broken over what an earlier file left behind: none is refused for another.
    return process.isFit || isFresh ? reading : this.#readNow(task);
  }

  async #fitProcess(): Promise<ReadingProcess> {
    if (this.#process?.isFit) return this.#process;
    if (this.#isClosed) throw new Error("The reader of PDFs is closed");
    const process = takeSpare() ?? new ReadingProcess();
    this.#process = process;
    if ((await within(this.#wall, limits.startMs, process.up)) !== late) return process;
    process.end();
    throw new Error(`The process that reads PDFs was not up within ${limits.startMs / 1_000} seconds`);
  }

  /** Resolves with whether it came. */
  #turn(bytes: number): Promise<boolean> {
    if (this.#isClosed || this.#isFull(bytes)) return Promise.resolve(false);
    if (!this.#isReading) {
      this.#isReading = true;
      return Promise.resolve(true);
    }
    return new Promise((resolve) => {
      const left = new AbortController();
      const waiting: Waiting = {
        bytes,
        leave(hasTurn) {
          left.abort();
          resolve(hasTurn);
        },
      };
      this.#waiting.push(waiting);
      void this.#wall.sleep(limits.waitMs, left.signal).then(() => {
        const at = this.#waiting.indexOf(waiting);
        if (at < 0) return;
        this.#waiting.splice(at, 1);
        waiting.leave(false);
      });
    });
  }

  #isFull(bytes: number): boolean {
    const all = this.#waiting.reduce((sum, waiting) => sum + waiting.bytes, bytes);
    return this.#waiting.length >= limits.waiting || (this.#waiting.length > 0 && all > limits.waitingBytes);
  }
}

interface Waiting {
  readonly bytes: number;
  leave(hasTurn: boolean): void;
}
