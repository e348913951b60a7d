import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { ndaContractJson } from "../support/cli/nda.ts";
import { runCli } from "../support/cli/run-cli.ts";

/** The command lines that a run suggests. */
const findProposedCommands = (stderr: string): string[] =>
  [...stderr.matchAll(/(?:Next:|try:|approved:|^ {2})\s?(svc [a-z].*)$/gm)].map(([, line]) => line!);

/** An emulator at the default port, which may run on this machine, changes the suggestion to start another. */
const omitPort = (line: string | undefined) => line?.replace(/ --port 0$/, "");

/** Creates a folder with a profile that has the addresses of the services. */
async function createProfileFolder(t: TestContext, name: string) {
  const cwd = await createTestFolder(t);
  const profiles = { [name]: { router_url: "http://127.0.0.1:9" } };
  await writeFile(join(cwd, "profiles.json"), JSON.stringify({ profiles }));
  return { cwd, env: { SVC_CONFIG_DIR: cwd } };
}

describe("suggested command line", () => {
  it("uses the same target with --emulator", async (t) => {
    const cwd = await createTestFolder(t);
    const created = await runCli("contracts create --data - --emulator", { cwd, stdin: ndaContractJson });
    assert.deepEqual(findProposedCommands(created.stderr), ["svc contracts send T-1 --emulator"]);
    const sent = await runCli("contracts send T-1 --emulator", { cwd });
    assert.deepEqual(findProposedCommands(sent.stderr), ["svc emulator sign T-1 --emulator"]);
    const result = await runCli("webhooks trigger CONTRACT_SIGNED --emulator", { cwd });
    assert.deepEqual(findProposedCommands(result.stderr), ["svc webhooks listen --emulator"]);
  });

  it("names the program svc, even under npx, and preserves other words", async (t) => {
    const cwd = await createTestFolder(t);
    const env = { npm_lifecycle_event: "npx", npm_lifecycle_script: "svc" };
    const { stderr } = await runCli("emulator deliveries", { cwd, env });
    assert.equal(omitPort(stderr.split("\n").at(-2)), "  try: svc emulator start --detach");
    await runCli(["intake", "create", "--title", "svc help me", "--workflow-id", "201", "--emulator"], { cwd, env });
    const { stdout } = await runCli("intake list --fields title --emulator", { cwd, env });
    assert.match(stdout, /^svc help me$/m);
    const help = await runCli("help", { env });
    assert.deepEqual([help.stdout.includes("npx"), help.stdout], [false, (await runCli("help")).stdout]);
  });

  it("uses the same target with --profile, in errors for users and for programs", async (t) => {
    const { cwd, env } = await createProfileFolder(t, "staging");
    const result = await runCli("--profile staging auth token", { cwd, env });
    assert.deepEqual(findProposedCommands(result.stderr), ["svc auth device-login --profile staging"]);
    const programs = await runCli("--profile=staging auth token --json", { cwd, env });
    assert.deepEqual(JSON.parse(programs.stderr).error.next, [
      { argv: ["svc", "auth", "device-login", "--profile", "staging"] },
    ]);
  });

  it("has no target if the command sends no requests", async (t) => {
    const cwd = await createTestFolder(t);
    await runCli("contracts list --emulator", { cwd });
    const state = join(cwd, ".svc/emulator.json");
    await writeFile(state, (await readFile(state, "utf8")).replace("northwind", "damaged"));
    const { stderr } = await runCli("contracts list --emulator", { cwd });
    assert.deepEqual(findProposedCommands(stderr), [`svc emulator repair ${state}`]);
  });
});
