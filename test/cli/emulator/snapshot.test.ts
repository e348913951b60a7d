import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";

describe("svc emulator snapshot", () => {
  it("explains valid names like other validated fields", async (t) => {
    const { svc } = await startCliEmulator(t);
    const words =
      "must be at most 64 letters, digits, dots, hyphens and underscores, and begin with a letter or a digit";
    const contractReason = '--contract must be the ID of a contract (12, T-12), got "x"';
    for (const [command, value, reason] of [
      ["emulator snapshot save", "a/b", `<name> ${words}`],
      ["emulator snapshot restore", "-", `<name> ${words}`],
      ["emulator deliveries", "--contract x", contractReason],
      ["webhooks deliveries", "--contract x", contractReason],
    ] as const) {
      const { exit, stderr } = await svc(`${command} ${value}`);
      assert.deepEqual([exit, stderr], [2, `error: ${reason}\n  See svc ${command} --help.\n`]);
    }
  });

  it("saves, lists, shows, compares, restores and removes a snapshot", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    assert.equal((await svc("emulator snapshot save prepared")).exit, 0);
    const [snapshot] = await json<{ name: string; file: null }[]>("emulator snapshot list");
    assert.deepEqual([snapshot!.name, snapshot!.file], ["prepared", null]);
    const contents = await json<{ rows: { users: number }; faults: number }>("emulator snapshot show prepared");
    assert.ok(contents.rows.users > 0);

    assert.deepEqual(await svc("emulator snapshot diff prepared --exit-status"), {
      exit: 0,
      stdout: "",
      stderr: "No differences\n",
    });
    await json(
      "contracts create --contract-template-id 101 --contract-name Lease --set contract_data={} --set counter_party_details=[]",
    );
    const changed = await svc("emulator snapshot diff prepared --exit-status --brief");
    assert.deepEqual([changed.exit, changed.stdout.split("\n")[0]], [1, "contract T-1: new, DRAFT"]);
    assert.equal((await svc("emulator snapshot diff prepared")).exit, 0);
    const findQuery = async (flags: string) =>
      (await svc(`emulator snapshot diff prepared --debug ${flags}`)).stderr.match(/diff(\S*)/)?.[1];
    assert.deepEqual([await findQuery(""), await findQuery("--all")], ["", "?limit=…"]);

    const restored = await json<{ backup_snapshot: string }>("emulator snapshot restore prepared");
    assert.equal(restored.backup_snapshot, "before-1");
    assert.equal((await svc("emulator snapshot diff prepared --exit-status")).exit, 0);
    const between = await svc("emulator snapshot diff prepared before-1 --exit-status --brief");
    assert.deepEqual([between.exit, between.stdout.split("\n")[0]], [1, "contract T-1: new, DRAFT"]);
    assert.equal((await svc("emulator snapshot remove prepared --yes")).exit, 0);
    assert.equal((await svc("emulator snapshot restore prepared")).exit, 5);
  });

  it("rejects a name with a path before anything is sent", async (t) => {
    const { svc } = await startCliEmulator(t);
    for (const name of ["../state", ".hidden", "before-1"]) {
      assert.equal((await svc(["emulator", "snapshot", "save", name])).exit, 2, name);
    }
  });
});
