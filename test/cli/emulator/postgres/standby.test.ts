import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addCleanup } from "../../../support/cleanup.ts";
import { createTestFolder } from "../../../support/cli/cli-emulator.ts";
import { ndaContractJson } from "../../../support/cli/nda.ts";
import { runCli } from "../../../support/cli/run-cli.ts";
import { startCommand } from "../../../support/cli/running-command.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { startEmulatorCommand } from "../started.ts";

describe("standby of a store in a folder of its own", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  it("takes over the current state, also if both processes started with --from", async (t) => {
    const [source, cwd] = [await startEmulatorCommand(t, "emulator start --port 0"), await createTestFolder(t)];
    await runCli("contracts create --data -", { cwd: source.cwd, stdin: ndaContractJson });
    const exported = await runCli("emulator state export --output from.json", { cwd: source.cwd });
    assert.equal(exported.exit, 0, exported.stderr);
    const line = `emulator start --port 0 --store ${server().url()} --from ${source.cwd}/from.json`;
    const env = { SVC_STORE_SCHEMA: server().freshSchema() };
    const leader = await startEmulatorCommand(t, line, env);
    const run = (argv: string, options = {}) => runCli(argv, { cwd, env, ...options });
    const standby = startCommand((argv, options) => run(argv as never, options), `${line} --json`.split(" "));
    addCleanup(t, () => standby.stop());
    await standby.saw('"following"');
    const created = await run("contracts create --data -", { stdin: ndaContractJson });
    assert.equal(created.exit, 0, created.stderr);
    await leader.run.stop();
    await standby.saw('"ready"');
    const { results } = JSON.parse((await run("contracts list --json")).stdout);
    assert.deepEqual(
      results.map(({ id }: { id: string }) => id),
      ["T-2", "T-1"],
    );
  });

  it("does not start with a copy if the store has a state and no leader", async (t) => {
    const env = { SVC_STORE_SCHEMA: server().freshSchema() };
    const leader = await startEmulatorCommand(t, `emulator start --port 0 --store ${server().url()}`, env);
    await runCli("emulator state export --output from.json", { cwd: leader.cwd });
    await leader.run.stop();
    const again = await runCli(`emulator start --port 0 --store ${server().url()} --from from.json`, {
      cwd: leader.cwd,
      env,
    });
    assert.deepEqual(
      [again.exit, again.stderr],
      [
        1,
        "error: The store already contains a state. Nothing was changed. Use another one with SVC_STORE_SCHEMA, or continue this state without --from.\n",
      ],
    );
  });
});
