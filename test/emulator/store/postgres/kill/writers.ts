import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { getProgramPath } from "../../../../support/program.ts";

interface Writer {
  readonly child: ChildProcess;
  readonly exit: Promise<unknown>;
  leads: boolean;
  isRejected: boolean;
  acknowledged: number;
}

/** Processes that write to one store as soon as they lead, and their acknowledged writes. */
export class Writers {
  /** Every acknowledged number, in the order of the acknowledgments. */
  readonly acknowledged: number[] = [];
  readonly #argv: readonly string[];
  #writers: Writer[] = [];
  #started = 0;
  #broken: Error | undefined;
  #heard: () => void = () => {};

  constructor(url: string, schema: string) {
    this.#argv = [url, schema];
  }

  /** Starts another one, with its own numbers. */
  start(): void {
    this.#started += 1;
    const argv = [getProgramPath("postgres-writer"), ...this.#argv, String(this.#started * 1_000_000)];
    const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
    const writer: Writer = { child, exit: once(child, "close"), leads: false, isRejected: false, acknowledged: 0 };
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (line === "leads") writer.leads = true;
      else if (line === "refused") writer.isRejected = true;
      else {
        writer.acknowledged += 1;
        this.acknowledged.push(Number(line));
      }
      this.#heard();
    });
    void writer.exit.then(() => {
      if (!child.killed && !writer.isRejected) this.#broken = new Error("A writer ended by itself");
      this.#heard();
    });
    this.#writers.push(writer);
  }

  /** The process whose writes are acknowledged, after this many more acknowledgments. */
  async leader(count: number): Promise<Writer> {
    const before = new Map(this.#writers.map((writer) => [writer, writer.acknowledged]));
    const found = () =>
      this.#writers.find((writer) => writer.acknowledged >= (before.get(writer) ?? 0) + count && !writer.isRejected);
    return this.#waitFor(found);
  }

  /** Waits for output of the writers. */
  async #waitFor<T>(getValue: () => T | undefined): Promise<T> {
    for (;;) {
      if (this.#broken) throw this.#broken;
      const value = getValue();
      if (value !== undefined) return value;
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  /** Resolves when it has learned that another one leads, and has ended. */
  async refused(writer: Writer): Promise<void> {
    await this.#waitFor(() => writer.isRejected || undefined);
    await writer.exit;
    this.#writers = this.#writers.filter((other) => other !== writer);
  }

  async kill(writer: Writer): Promise<void> {
    writer.child.kill("SIGKILL");
    await writer.exit;
    this.#writers = this.#writers.filter((other) => other !== writer);
  }

  async killAll(): Promise<void> {
    for (const writer of [...this.#writers]) await this.kill(writer);
  }
}

export const waitMs = (ms: number): Promise<void> => sleep(ms);
