import type { TestContext } from "node:test";
import { addCleanup } from "../../support/cleanup.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startCommand } from "../../support/cli/running-command.ts";

/** Runs a command that starts an emulator until it is ready. */
export async function startEmulatorCommand(
  t: TestContext,
  line: string,
  env: Readonly<Record<string, string>> = {},
  folder?: string,
) {
  const cwd = folder ?? (await createTestFolder(t));
  const run = startCommand((argv, options) => runCli(argv, { cwd, env, ...options }), `${line} --json`.split(" "));
  addCleanup(t, () => run.stop());
  await run.saw('"ready"');
  const [ready] = run.events() as { router_url: string }[];
  return { cwd, run, url: ready!.router_url, port: new URL(ready!.router_url).port };
}
