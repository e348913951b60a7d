import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { enqueue } from "../../../emulator/clock/schedule.ts";
import { collections } from "../../../emulator/compose/collections.ts";
import { openFileStore } from "../../../emulator/store/file/file-store.ts";
import { systemWall } from "../../../src/base/clock.ts";
import { begin, stage } from "../../support/stage.ts";
import { idle } from "../../support/standing-wall.ts";
import { gatedDisk, temporaryFolder } from "../../support/store.ts";

describe("what is due", () => {
  it("is not begun before it is durable: a crash cannot take back what somebody was told", async (t) => {
    let sync = Promise.resolve();
    const disk = gatedDisk((call) => (call === "datasync" ? sync : undefined));
    const path = join(await temporaryFolder(t), "emulator.json");
    const store = await openFileStore({ path, collections, wall: systemWall, disk });
    const { runner, seen } = await stage(t, {}, { store });

    let release = () => {};
    sync = new Promise((resolve) => {
      release = resolve;
    });
    const added = store.transaction("add", (tx) => enqueue(tx, { due: begin, kind: "play", lane: "a", ref: "a" }));
    const settled = runner.idle();
    await idle();
    assert.deepEqual(seen, []);

    release();
    await Promise.all([added, settled]);
    assert.deepEqual(seen, ["+0 a"]);
  });
});
