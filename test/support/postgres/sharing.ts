import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import type { EmulatorOptions } from "../../../emulator/index.ts";
import { createSender, type TestResponse } from "../emulator.ts";
import { getProgramPath } from "../program.ts";
import { bulkOperations, createBulkBody } from "../routed-emulator.ts";

interface SharingMessage {
  readonly role?: "leader" | "standby";
  readonly routerUrl?: string;
  readonly log?: string;
}

/** One of several processes that share a store. */
export class SharingProcess {
  readonly child: ChildProcess;
  readonly exit: Promise<unknown>;
  /** Lines that the process printed. */
  readonly log: string[] = [];
  role: "leader" | "standby" | undefined;
  url = "";
  #heard: () => void = () => {};

  constructor(options: EmulatorOptions) {
    const argv = [getProgramPath("sharing-process"), JSON.stringify({ port: 0, ...options })];
    this.child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
    this.exit = once(this.child, "close");
    createInterface({ input: this.child.stdout! }).on("line", (line) => {
      const { role, routerUrl, log } = JSON.parse(line) as SharingMessage;
      this.role = role ?? this.role;
      this.url = routerUrl ?? this.url;
      if (log !== undefined) this.log.push(log);
      this.#heard();
    });
    void this.exit.then(() => this.#heard());
  }

  get isThere(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Resolves when the process has reported this role. */
  async is(role: "leader" | "standby" | "either"): Promise<void> {
    while (role === "either" ? this.url === "" : this.role !== role) {
      if (!this.isThere) throw new Error(`It ended: ${this.log.join("; ")}`);
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exit;
  }

  /** Maps an e-mail through this process. */
  map(id: string): Promise<TestResponse> {
    return createSender(this.url)("POST", bulkOperations.emails.path, { body: createBulkBody("emails", "eu-1", [id]) });
  }
}

/** Starts processes that share a store. The first one leads. They are killed when the test ends. */
export async function startSharingProcesses(
  t: Pick<TestContext, "after">,
  count: number,
  options: EmulatorOptions,
): Promise<SharingProcess[]> {
  const started: SharingProcess[] = [];
  t.after(() => Promise.all(started.map((each) => each.kill())));
  while (started.length < count) await startSharingProcess(started, options);
  return started;
}

/** Starts a further process, which follows unless it is the first. */
export async function startSharingProcess(
  started: SharingProcess[],
  options: EmulatorOptions,
): Promise<SharingProcess> {
  const process = new SharingProcess({ token: "the-token", ...options });
  started.push(process);
  await process.is(started.length === 1 ? "leader" : "standby");
  return process;
}
