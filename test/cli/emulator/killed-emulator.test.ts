import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startEmulatorProcess } from "../../support/emulator-process.ts";

/** A folder with an emulator that was ended by `kill -9`. */
async function startAndKill(t: TestContext, options: { readonly ephemeral?: true } = {}) {
  const cwd = await createTestFolder(t);
  const state = join(cwd, ".svc/emulator.json");
  const location = options.ephemeral ? { ephemeral: true, runFile: `${state}.run` } : { file: state };
  const { kill } = await startEmulatorProcess(t, { port: 0, ...location });
  await kill();
  /** Without the flag that a start needs while another program listens at the default port of this machine. */
  const svc = async (line: string) => {
    const { stderr, ...result } = await runCli(line, { cwd });
    return { ...result, stderr: stderr.replace(" --port 0", "") };
  };
  return { cwd, state, svc };
}

describe("command in the folder of a killed emulator", () => {
  it("reports the missing emulator and suggests a fix", async (t) => {
    const { state, svc } = await startAndKill(t);
    for (const line of ["emulator deliveries", "emulator stop", "emulator env", "webhooks why", "emulator clock"]) {
      const { exit, stderr } = await svc(line);
      assert.deepEqual(
        [exit, stderr],
        [
          5,
          `error: The emulator was killed, or its machine went down (state: ${state}).\n` +
            "  No data is lost. Start it again to continue.\n" +
            // svc emulator stop suggests no start.
            (line === "emulator stop" ? "" : "  try: svc emulator start --detach\n"),
        ],
        line,
      );
    }
    assert.equal((await svc("emulator status")).stdout, "not running\n");
    const { exit, stderr } = await svc(`emulator clock --file ${state}`);
    assert.deepEqual([exit, stderr.split("\n").at(-2)], [5, `  try: svc emulator start --detach --file ${state}`]);
  });

  it("names the emulator that would respond to a service request", async (t) => {
    const { svc } = await startAndKill(t);
    const { exit, stderr } = await svc("contracts list");
    assert.deepEqual(
      [exit, stderr],
      [
        2,
        "error: No service address is configured.\n" +
          "  To start the emulator of .svc/emulator.json, run svc emulator start --detach. Or use --base-url URL, " +
          "set SVC_BASE_URL, or choose a --profile.\n",
      ],
    );
  });

  it("reports that an emulator in memory is gone with its data", async (t) => {
    const { svc } = await startAndKill(t, { ephemeral: true });
    const { exit, stderr } = await svc("emulator deliveries");
    assert.deepEqual([exit, stderr.split("\n")[1]], [5, "  Its state was in memory and is lost."]);
  });

  it("finds an emulator in a container that shares the folder, whose process ID means nothing here", async (t) => {
    const cwd = await createTestFolder(t);
    const state = join(cwd, ".svc/emulator.json");
    const live = await startEmulatorProcess(t, { port: 0, file: state });
    // The paths of the container differ from the paths of this machine.
    const { path: _, ...run } = JSON.parse(await readFile(`${state}.run`, "utf8"));
    const nobody = 2 ** 22 + 1;
    const container = { machine: "container", machine_id: undefined, pid_namespace: "pid:[1]" };
    await writeFile(`${state}.run`, JSON.stringify({ ...run, ...container, pid: nobody }));
    assert.equal((await runCli("emulator status --json=running", { cwd })).exit, 0);
    await live.kill();
    assert.match((await runCli("emulator stop", { cwd })).stderr, /^error: The emulator was killed/);
  });
});
