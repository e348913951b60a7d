import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTestFolder, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { describeForEachStore } from "../../support/postgres/each-store.ts";

const create =
  "contracts create --contract-template-id 101 --contract-name Lease --set contract_data={} --set counter_party_details=[]";

describeForEachStore("svc emulator rewind", (place) => {
  it("svc emulator rewind rewinds by steps, request or time and saves the later state", async (t) => {
    const { svc, json } = await startCliEmulator(t, await place(t));
    const exists = async () => (await svc("contracts status T-1")).exit === 0;
    await json(create);
    assert.equal((await svc("emulator snapshot save drafted")).exit, 0);
    await json("emulator clock advance --by PT1H");
    assert.deepEqual(await json("emulator rewind --steps 1"), {
      now: "2031-01-02T03:04:05.000Z",
      backup_snapshot: "before-1",
      undone: 1,
      dropped: [],
    });
    assert.equal((await svc("emulator snapshot diff drafted --exit-status")).exit, 0);
    const { items } = await json<{ items: { id: number }[] }>("emulator requests --operation contracts.create");
    await json(`emulator rewind --before request:${items[0]!.id}`);
    assert.equal(await exists(), false);
    await json("emulator snapshot restore before-1");
    assert.equal(await exists(), true);
    assert.equal((await json("emulator rewind --to 2031-01-02T03:30:00Z")).now, "2031-01-02T03:30:00.000Z");
  });
});

describe("svc emulator rewind", () => {
  it("explains missing or conflicting targets and a missing or short history", async (t) => {
    const { svc } = await startCliEmulator(t);
    for (const argv of ["", "--steps 1 --before request:1", "--steps 0", "--to yesterday"]) {
      assert.equal((await svc(`emulator rewind ${argv}`)).exit, 2, argv);
    }
    assert.deepEqual(await svc("emulator rewind --steps 1"), {
      exit: 1,
      out: "",
      err:
        "error: This emulator has no history. It requires a state in a file or a database, and SVC_HISTORY above 0 (HTTP 409)\n" +
        "  Save snapshots with `svc emulator snapshot save NAME`.\n",
    });
  });

  it("limits the history by SVC_HISTORY and rejects invalid sizes", async (t) => {
    const cwd = await createTestFolder(t);
    const { exit, err } = await runCli("emulator exec -- true", { cwd, env: { SVC_HISTORY: "much" } });
    assert.deepEqual([exit, err.split("\n")[0]], [2, 'error: SVC_HISTORY must be a size (500MB, 2GiB), got "much"']);
    assert.equal((await runCli("emulator exec --file a.json -- true", { cwd, env: { SVC_HISTORY: "0" } })).exit, 0);
  });
});
