import assert from "node:assert/strict";
import { existsSync } from "node:fs";
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

  it("creates its own run file for commands", async (t) => {
    const store = `--store ${server().url()}`;
    const env = { SVC_STORE_SCHEMA: server().freshSchema() };
    const { cwd, url } = await startEmulatorCommand(t, `emulator start --port 0 ${store}`, env);
    const second = startCommand(
      (argv, options) => runCli(argv, { cwd, env, ...options }),
      [...`emulator start --port 0 ${store} --json`.split(" ")],
    );
    addCleanup(t, () => second.stop());
    await second.saw('"following"');
    const state = join(cwd, ".svc/emulator.json");
    const urlAt = async (path: string) => JSON.parse(await readFile(path, "utf8")).router_url;
    const [{ router_url, leader }] = second.events() as [{ router_url: string; leader: string }];
    assert.deepEqual([leader, await urlAt(`${state}.run`), await urlAt(`${state}.2.run`)], [url, url, router_url]);
    assert.equal((await runCli(`emulator stop --file ${state}.2`, { cwd })).exit, 0);
    await second.completion;
    assert.equal(existsSync(`${state}.2.run`), false);
    assert.equal((await runCli("emulator status", { cwd })).exit, 0);
  });
});
