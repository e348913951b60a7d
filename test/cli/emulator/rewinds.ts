import assert from "node:assert/strict";
import { it } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import type { StoreOptionsFactory } from "../../support/postgres/each-store.ts";

const create =
  "contracts create --contract-template-id 101 --contract-name Lease --set contract_data={} --set counter_party_details=[]";

/** Defines the test of rewinding from the command line for one kind of store. */
export function testRewindCommand(createStoreOptions: StoreOptionsFactory): void {
  it("svc emulator rewind rewinds by steps, request or time and saves the later state", async (t) => {
    const { svc, json } = await startCliEmulator(t, await createStoreOptions(t));
    const exists = async () => (await svc("contracts status T-1")).exit === 0;
    await json(create);
    assert.equal((await svc("emulator snapshot save drafted")).exit, 0);
    await json("emulator clock set --mode manual");
    await json("emulator clock advance --by PT1H");
    const { steps, ...rewound } = await json<{ steps: { id: string }[] }>("emulator rewind --steps 1");
    assert.deepEqual(rewound, { now: "2031-01-02T03:04:05.000Z", backup_snapshot: "before-1", undone: 1, dropped: [] });
    const operation = "clock.advance POST /_emulator/clock/advance";
    const at = "2031-01-02T03:04:05.000Z";
    assert.deepEqual(steps, [{ id: steps[0]?.id, at, what: operation, contract: null }]);
    assert.equal((await svc("emulator snapshot diff drafted --exit-status")).exit, 0);
    const { items } = await json<{ items: { id: number }[] }>("emulator requests --operation contracts.create");
    const created = items[0]!.id;
    assert.deepEqual(await svc(`emulator rewind --before request:${created}`), {
      exit: 0,
      stdout: `now\t${at}\nbackup_snapshot\tbefore-2\nundone\t1\n`,
      stderr: `Undone: request:${created} at ${at}: contracts.create POST /api/v2.1/public/contracts/ (T-1)\n`,
    });
    assert.equal(await exists(), false);
    await json("emulator snapshot restore before-2");
    assert.equal(await exists(), true);
    await json("emulator clock advance --by PT1H");
    assert.equal((await json("emulator rewind --to 2031-01-02T03:30:00Z")).now, "2031-01-02T03:30:00.000Z");
  });
}
