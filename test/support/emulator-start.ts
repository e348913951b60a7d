import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import type { EmulatorOptions } from "../../emulator/index.ts";
import { addCleanup } from "./cleanup.ts";
import { getBundleFolder } from "./shipped.ts";

/** A process in which an emulator was started, or failed to start. */
export interface StartedProcess {
  /**
   * Resolves with `up`, or with name and message of the error. The process can then start another emulator, with
   * additional options.
   */
  start(options?: EmulatorOptions): Promise<string>;
  signal(name: NodeJS.Signals): void;
  /** Sends SIGKILL. Resolves when the process has ended. */
  kill(): Promise<void>;
}

const program = `
const { startEmulator } = await import(process.argv[1]);
console.log("ready to start");
process.stdin.on("data", (options) => startEmulator(JSON.parse(options)).then(
  () => console.log("up"),
  (error) => console.log(error.name + ": " + error.message),
));
`;

/** Spawns a process that starts an emulator from the bundle on request. `within` is a command that runs the process. */
export async function prepareEmulatorProcess(
  t: TestContext,
  options: EmulatorOptions,
  { within = [], cwd }: { readonly within?: readonly string[]; readonly cwd?: string } = {},
): Promise<StartedProcess> {
  const argv = ["--input-type=module", "-e", program, join(getBundleFolder(), "emulator.js")];
  const [command, ...args] = [...within, process.execPath, ...argv];
  const child = spawn(command!, args, { stdio: ["pipe", "pipe", "inherit"], cwd });
  const closed = once(child, "close");
  const kill = async () => {
    child.kill("SIGKILL");
    await closed;
  };
  addCleanup(t, kill);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  return {
    async start(more) {
      child.stdin.write(JSON.stringify({ ...options, ...more }));
      return (await lines.next()).value as string;
    },
    signal: (name) => child.kill(name),
    kill,
  };
}
