import type { Context } from "../../command.ts";
import { isRefused } from "../webhooks/stale-listeners.ts";

const probeMs = 300;

/** Says when the app that webhooks are forwarded to refuses connections, and when it accepts them again. */
export class AppWatch {
  readonly #url: string;
  readonly #context: Context;
  readonly #report: (event: "app_down" | "app_up", line: string) => void;
  #isDown = false;

  constructor(url: string, context: Context, report: (event: "app_down" | "app_up", line: string) => void) {
    this.#url = url;
    this.#context = context;
    this.#report = report;
  }

  get isDown(): boolean {
    return this.#isDown;
  }

  /** Looks now. While it is down, it is looked at until it is back. */
  async check(): Promise<void> {
    if (this.#isDown || !(await isRefused(this.#url))) return;
    if (this.#isDown) return;
    this.#isDown = true;
    this.#report("app_down", `${this.#url} refuses connections: webhooks fail until your app runs there.`);
    void this.#waitUntilBack();
  }

  async #waitUntilBack(): Promise<void> {
    const { host, signal } = this.#context;
    while (!signal.aborted) {
      await host.wall.sleep(probeMs, signal);
      if (signal.aborted || (await isRefused(this.#url))) continue;
      this.#isDown = false;
      this.#report("app_up", `${this.#url} accepts connections again.`);
      return;
    }
  }
}
