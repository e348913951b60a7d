import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { addCleanup } from "../../../support/cleanup.ts";
import { runCli } from "../../../support/cli/run-cli.ts";
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
});
