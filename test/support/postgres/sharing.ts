import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import type { EmulatorOptions } from "../../../emulator/index.ts";
import { type Answer, sender } from "../emulator.ts";
import { program } from "../program.ts";
import { bulk, bulkBody } from "../routed.ts";

interface Told {
  readonly role?: "leader" | "standby";
  readonly routerUrl?: string;
  readonly log?: string;
}

/** One of several processes that share a store. */
export class SharingProcess {
  readonly child: ChildProcess;
  readonly gone: Promise<unknown>;
  /** What it said of itself. */
  readonly log: string[] = [];
  role: "leader" | "standby" | undefined;
  url = "";
  #heard: () => void = () => {};

  constructor(options: EmulatorOptions) {
    const argv = [program("sharing-process"), JSON.stringify({ port: 0, ...options })];
    this.child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
    this.gone = once(this.child, "close");
    createInterface({ input: this.child.stdout! }).on("line", (line) => {
      const { role, routerUrl, log } = JSON.parse(line) as Told;
      this.role = role ?? this.role;
      this.url = routerUrl ?? this.url;
      if (log !== undefined) this.log.push(log);
      this.#heard();
    });
    void this.gone.then(() => this.#heard());
  }

  get isThere(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Resolves once it has told that it is one of both. */
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
    await this.gone;
  }

  /** Maps an e-mail by this process. */
  map(id: string): Promise<Answer> {
    return sender(this.url)("POST", bulk.emails.path, { body: bulkBody("emails", "eu-1", [id]) });
  }
}

/** Processes of one store, the first of which leads. They are killed when the test ends. */
export async function sharing(
  t: Pick<TestContext, "after">,
  count: number,
  options: EmulatorOptions,
): Promise<SharingProcess[]> {
  const started: SharingProcess[] = [];
  t.after(() => Promise.all(started.map((each) => each.kill())));
  while (started.length < count) await oneMore(started, options);
  return started;
}

/** One more of them: it follows, unless it is the first. */
export async function oneMore(started: SharingProcess[], options: EmulatorOptions): Promise<SharingProcess> {
  const one = new SharingProcess({ token: "the-token", ...options });
  started.push(one);
  await one.is(started.length === 1 ? "leader" : "standby");
  return one;
}
