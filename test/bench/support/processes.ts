import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { EmulatorOptions, RunningCluster } from "../../../emulator/index.ts";
import { bundled } from "./bundled.ts";

/** A process of its own that takes part in a benchmark. */
export class Party<Ready = { readonly url: string }> {
  readonly #child: ChildProcess;
  readonly ready: Ready;

  constructor(child: ChildProcess, ready: Ready) {
    this.#child = child;
    this.ready = ready;
  }

  /** CPU milliseconds that it has used, and the memory that it holds, in megabytes; garbage is collected first. */
  usage(): Promise<{ readonly cpuMs: number; readonly rssMb: number; readonly heapMb: number }> {
    return this.ask("usage");
  }

  /** CPU milliseconds that it has used, its garbage as it comes. */
  cpuMs(): Promise<number> {
    return this.ask("cpu");
  }

  /** Ends it as `kill -9` does. */
  async kill(): Promise<void> {
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }

  async ask<T>(question: string, about: object = {}): Promise<T> {
    this.#child.send({ question, about });
    const [answer] = await once(this.#child, "message");
    return answer;
  }
}

export interface RunningEmulator {
  readonly url: string;
  readonly token: string;
  readonly clusters: readonly RunningCluster[];
}

/** Starts processes, and ends them with the scope. */
export class Parties {
  readonly #stops: (() => unknown)[] = [];

  async start<Ready = { readonly url: string }>(role: string, about: object = {}): Promise<Party<Ready>> {
    const child = fork(fileURLToPath(new URL("parties.ts", import.meta.url)), [role, JSON.stringify(about)], {
      execArgv: ["--import", "tsx", "--expose-gc"],
    });
    this.#stops.push(() => child.kill());
    const [ready] = await once(child, "message");
    return new Party(child, ready as Ready);
  }

  /** An emulator as it ships. */
  async emulator(options: EmulatorOptions): Promise<Party<RunningEmulator>> {
    const { folder, remove } = await bundled();
    this.#stops.push(remove);
    return this.start("emulator", { folder, options });
  }

  /** Another one of a store that has a leader; ready once it forwards. */
  async standby(options: EmulatorOptions): Promise<Party> {
    const { folder, remove } = await bundled();
    this.#stops.push(remove);
    return this.start("standby", { folder, options });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops.reverse()) await stop();
  }
}
