import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { addCleanup } from "../../../support/cleanup.ts";
import { createTestFolder } from "../../../support/cli/cli-emulator.ts";
import { runCli } from "../../../support/cli/run-cli.ts";
import { startEmulatorProcess } from "../../../support/emulator-process.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { startEmulatorCommand } from "../started.ts";

describe("svc emulator stop with a store", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();

  it("prints only the result while the emulator waits for a pending request", async (t) => {
    const env = { SVC_STORE_SCHEMA: server().freshSchema() };
    const { cwd, port } = await startEmulatorCommand(t, `emulator start --port 0 --store ${server().url()}`, env);
    const socket = connect(Number(port), "127.0.0.1").on("error", () => {});
    addCleanup(t, () => void socket.destroy());
    const head =
      "POST /api/v1/oauth/token HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n";
    socket.write(head);
    await once(socket, "data");
    const { exit, stdout, stderr } = await runCli("emulator stop", { cwd });
    assert.deepEqual([exit, stdout, stderr], [0, "", "Stopped\n"]);
  });

  it("names the store while the emulator runs, and after it was killed", async (t) => {
    const cwd = await createTestFolder(t);
    const url = server().url();
    const runFile = join(cwd, ".svc/emulator.json.run");
    const schema = server().freshSchema();
    const emulator = await startEmulatorProcess(t, { port: 0, store: url, schema, runFile });
    const { router_url } = JSON.parse(await readFile(runFile, "utf8"));
    const { exit, stderr } = await runCli("contracts list --json", { cwd });
    assert.deepEqual([exit, stderr], [0, `Using the emulator at ${router_url} (state: ${url})\n`]);
    await emulator.kill();
    assert.deepEqual(await runCli("emulator stop", { cwd }), {
      exit: 5,
      stdout: "",
      stderr:
        `error: The emulator was killed, or its machine went down (state: ${url}).\n` +
        "  No data is lost. Start it again with the same store to continue.\n",
    });
  });
});
