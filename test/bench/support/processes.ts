import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { EmulatorOptions, RunningCluster } from "../../../emulator/index.ts";
import { bundlePackage } from "./bundled.ts";

/** A separate process that takes part in a benchmark. */
export class BenchProcess<Ready = { readonly url: string }> {
  readonly #child: ChildProcess;
  readonly ready: Ready;

  constructor(child: ChildProcess, ready: Ready) {
    this.#child = child;
    this.ready = ready;
  }

  /** Returns the CPU time in milliseconds, and the memory in megabytes after a garbage collection. */
  usage(): Promise<{ readonly cpuMs: number; readonly rssMb: number; readonly heapMb: number }> {
    return this.request("usage");
  }

  /** Returns the CPU time in milliseconds without forcing a garbage collection. */
  cpuMs(): Promise<number> {
    return this.request("cpu");
  }

  /** Sends SIGKILL. */
  async kill(): Promise<void> {
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exit;
  }

  async request<T>(question: string, parameters: object = {}): Promise<T> {
    this.#child.send({ question, about: parameters });
    const [reply] = await once(this.#child, "message");
    return reply;
  }
}

export interface RunningEmulator {
  readonly url: string;
  readonly token: string;
  readonly clusters: readonly RunningCluster[];
}

/** Starts processes and ends them with the scope. */
export class ProcessGroup {
  readonly #stops: (() => unknown)[] = [];

  async start<Ready = { readonly url: string }>(role: string, options: object = {}): Promise<BenchProcess<Ready>> {
    const child = fork(fileURLToPath(new URL("parties.ts", import.meta.url)), [role, JSON.stringify(options)], {
      execArgv: ["--import", "tsx", "--expose-gc"],
    });
    this.#stops.push(() => child.kill());
    const [ready] = await once(child, "message");
    return new BenchProcess(child, ready as Ready);
  }

  /** Starts a packaged emulator. */
  async emulator(options: EmulatorOptions): Promise<BenchProcess<RunningEmulator>> {
    const { folder, remove } = await bundlePackage();
    this.#stops.push(remove);
    return this.start("emulator", { folder, options });
  }

  /** Starts another process of a store that has a leader. Resolves when the process forwards requests. */
  async standby(options: EmulatorOptions): Promise<BenchProcess> {
    const { folder, remove } = await bundlePackage();
    this.#stops.push(remove);
    return this.start("standby", { folder, options });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops.reverse()) await stop();
  }
}
