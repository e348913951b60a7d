import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cliEmulator } from "../support/cli/cli-emulator.ts";
import { runCli } from "../support/cli/run-cli.ts";

describe("--dry-run", () => {
  it("prints the request with its secrets masked, and sends nothing", async (t) => {
    const { svc, json, emulator } = await cliEmulator(t);
    const { exit, out } = await svc("intake create --title x --workflow-id 201 --dry-run --json");
    assert.deepEqual(
      [exit, JSON.parse(out)],
      [
        0,
        {
          dry_run: true,
          method: "POST",
          url: `${emulator.clusters[0]!.url}/api/v1/public/legal_intake/`,
          headers: {
            accept: "application/json",
            "content-type": "application/json",
            "client-id": "[hidden]",
            "client-secret": "[hidden]",
          },
          body: { title: "x", workflow_id: 201 },
        },
      ],
    );
    assert.deepEqual(await json("emulator requests --fields operation"), []);
  });

  it("still checks input and credentials", async () => {
    const nowhere = ["--base-url", "http://127.0.0.1:1", "--dry-run"];
    assert.equal((await runCli(["intake", "create", "--title", "x", ...nowhere])).exit, 2);
    assert.equal((await runCli(["intake", "create", "--title", "x", "--workflow-id", "1", ...nowhere])).exit, 4);
  });
});
