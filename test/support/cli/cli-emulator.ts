import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { EmulatorOptions } from "../../../emulator/index.ts";
import { buildChildEnvironment } from "../../../src/cli/commands/emulator/exec.ts";
import { addCleanup } from "../cleanup.ts";
import { startTestEmulator, type TestEmulator } from "../emulator.ts";
import { startReceiver } from "../receiver.ts";
import { ndaContractJson } from "./nda.ts";
import { type RunOptions, type RunResult, runCli } from "./run-cli.ts";

export interface CliEmulator {
  readonly emulator: TestEmulator;
  /** Empty working folder of the commands, removed when the test ends. */
  readonly cwd: string;
  /** Runs `svc` with the environment that `svc emulator exec` would set. */
  svc(argv: string | readonly string[], options?: RunOptions): Promise<RunResult>;
  /** Runs `svc` with --json and parses the output. Fails the test if the command fails. */
  json<T = Record<string, unknown>>(argv: string | readonly string[], options?: RunOptions): Promise<T>;
}

/** Creates a folder that is removed when the test ends. */
export async function createTestFolder(t: Pick<TestContext, "after">): Promise<string> {
  const cwd = await mkdtemp(join(tmpdir(), "svc-test-"));
  addCleanup(t, () => rm(cwd, { recursive: true, force: true }));
  return cwd;
}

/** Starts an emulator for one test, with a command line that uses it. */
export async function startCliEmulator(
  t: Pick<TestContext, "after">,
  options: EmulatorOptions = {},
): Promise<CliEmulator> {
  const cwd = await createTestFolder(t);
  const emulator = await startTestEmulator(t, options);
  const svc = (argv: string | readonly string[], options: RunOptions = {}) => {
    const host = { env: { SVC_CONFIG_DIR: cwd } } as unknown as Parameters<typeof buildChildEnvironment>[1];
    return runCli(argv, { cwd, ...options, env: { ...buildChildEnvironment(emulator, host), ...options.env } });
  };
  return {
    emulator: emulator,
    cwd,
    svc,
    async json(argv, options) {
      const words = typeof argv === "string" ? argv.split(" ") : argv;
      const { exit, stdout, stderr } = await svc([...words, "--json"], options);
      if (exit !== 0) throw new Error(`svc ${words.join(" ")} exited ${exit}: ${stderr}`);
      return JSON.parse(stdout);
    },
  };
}

/** Starts an emulator with a contract, and a receiver that is subscribed to signatures. */
export async function startCliEmulatorWithReceiver(t: TestContext) {
  const emulator = await startCliEmulator(t);
  const app = await startReceiver(t);
  await emulator.json("contracts create --data -", { stdin: ndaContractJson });
  const argv = ["webhooks", "create", "--title", "app", "--url", app.url, "--only-for-activities", "CONTRACT_SIGNED"];
  const { id } = await emulator.json<{ id: number }>(argv);
  return { ...emulator, app, webhook: id };
}
