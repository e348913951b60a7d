import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import type { Emulator, EmulatorOptions } from "../../emulator/index.ts";
import { addCleanup } from "./cleanup.ts";
import { createSender, type TestEmulator } from "./emulator.ts";
import { getBundleFolder } from "./shipped.ts";

/** An emulator in a separate process. */
export interface EmulatorProcess extends Pick<TestEmulator, "api" | "control"> {
  /** Sends SIGKILL. Resolves when the process has ended. */
  kill(): Promise<void>;
}

const program = `
const { startEmulator } = await import(process.argv[1]);
const { routerUrl, token, clusters } = await startEmulator(JSON.parse(process.argv[2]));
console.log(JSON.stringify({ routerUrl, token, clusters }));
`;

/** Starts the bundle in a process, which is killed when the test ends. */
export async function startEmulatorProcess(
  t: Pick<TestContext, "after">,
  options: EmulatorOptions,
  env: Readonly<Record<string, string>> = {},
): Promise<EmulatorProcess> {
  const argv = [join(getBundleFolder(), "emulator.js"), JSON.stringify(options)];
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, ...argv], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  const closed = once(child, "close");
  const kill = async () => {
    child.kill("SIGKILL");
    await closed;
  };
  addCleanup(t, kill);
  const [line] = (await Promise.race([once(createInterface({ input: child.stdout }), "line"), closed])) as [unknown];
  if (typeof line !== "string") throw new Error("The emulator ended before it was up");
  const { routerUrl, token, clusters } = JSON.parse(line) as Pick<Emulator, "routerUrl" | "token" | "clusters">;
  const [first] = clusters;
  return {
    kill,
    api: createSender(first!.url, { "client-id": first!.clientId!, "client-secret": first!.clientSecret! }),
    control: createSender(`${routerUrl}/_emulator`, { authorization: `Bearer ${token}` }),
  };
}
