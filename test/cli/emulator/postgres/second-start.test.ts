import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { addCleanup } from "../../../support/cleanup.ts";
import { runCli } from "../../../support/cli/run-cli.ts";
import { startCommand } from "../../../support/cli/running-command.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { startEmulatorCommand } from "../started.ts";

describe("second svc emulator start of a store in one folder", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  it("needs a run file of its own", async (t) => {
    const store = `--store ${server().url()}`;
    const env = { SVC_STORE_SCHEMA: server().freshSchema() };
    const { cwd, url } = await startEmulatorCommand(t, `emulator start --port 0 ${store}`, env);
    const line = `emulator start --port 0 ${store} --json`;
    const rejected = await runCli(line, { cwd, env });
    const { error } = JSON.parse(rejected.stderr);
    assert.deepEqual(
      [rejected.exit, error.code, error.hint],
      [1, "state_in_use", "To run a second process with the same store and folder, set SVC_RUN_FILE to another file."],
    );
    const second = startCommand(
      (argv, options) => runCli(argv, { cwd, env: { ...env, SVC_RUN_FILE: "second.run" }, ...options }),
      line.split(" "),
    );
    addCleanup(t, () => second.stop());
    await second.saw('"following"');
    const urlAt = async (path: string) => JSON.parse(await readFile(join(cwd, path), "utf8")).router_url;
    const [{ router_url, leader }] = second.events() as [{ router_url: string; leader: string }];
    assert.deepEqual(
      [leader, await urlAt(".svc/emulator.json.run"), await urlAt("second.run")],
      [url, url, router_url],
    );
  });
});
