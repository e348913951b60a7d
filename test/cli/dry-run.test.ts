import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cliEmulator } from "../support/cli-emulator.ts";
import { runCli } from "../support/run-cli.ts";

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

describe("confirmation", () => {
  it("is needed for what cannot be undone, and never asked for without a terminal", async (t) => {
    const { svc, json } = await cliEmulator(t);
    await json("intake create --title x --workflow-id 201");
    const refused = await svc("intake delete 1");
    assert.deepEqual([refused.exit, refused.err], [2, "error: --yes required when not running interactively\n"]);
    assert.equal((await svc("intake show 1")).exit, 0);
    assert.equal((await svc("intake delete 1 --yes")).exit, 0);
    // An unknown intake is answered 403 (decisions.md, C1).
    assert.equal((await svc("intake show 1")).exit, 4);
  });

  it("by name is not given by --yes alone", async (t) => {
    const { svc } = await cliEmulator(t);
    const offboard = "router offboard eu-1 --client-ids a";
    assert.match((await svc(`${offboard} --yes`)).err, /--confirm eu-1 required/);
    assert.match((await svc(`${offboard} --confirm us-1`)).err, /--confirm must repeat eu-1/);
    assert.deepEqual((await svc(`${offboard} --confirm eu-1`)).exit, 0);
  });

  it("is not asked for in CI or with --no-input, even on a terminal", async (t) => {
    const { svc } = await cliEmulator(t);
    for (const [argv, env] of [
      ["intake delete 1", { CI: "true" }],
      ["intake delete 1", { SVC_NO_INPUT: "1" }],
      ["intake delete 1 --no-input", {}],
    ] as const) {
      assert.equal((await svc(argv, { tty: true, env })).exit, 2, JSON.stringify([argv, env]));
    }
  });
});
