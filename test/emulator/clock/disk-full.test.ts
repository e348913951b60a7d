import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { dequeue, schedule } from "../../../emulator/clock/schedule.ts";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { openFileStore } from "../../../emulator/store/file/file-store.ts";
import { ManualWallClock, waitForIdle } from "../../support/clocks/manual-wall-clock.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator, type TestEmulator } from "../../support/emulator.ts";
import { mountSmallDisk } from "../../support/files/small-disk.ts";
import { startReceiver } from "../../support/receiver.ts";
import { createRunnerFixture, initialTimeMs, toMilliseconds } from "../../support/runner-fixture.ts";
import { createGatedDisk, createTemporaryFolder } from "../../support/store.ts";
import { createWebhook } from "../travel/travel.ts";

/** An emulator whose disk can be filled and emptied. */
async function startOnSmallDisk(t: TestContext) {
  const folder = await mountSmallDisk(t);
  if (folder === undefined) return undefined;
  const emulator = await startTestEmulator(t, { file: join(folder, "emulator.json") });
  const filler = join(folder, "other");
  return {
    emulator,
    fill: () => writeFile(filler, Buffer.alloc(2_000_000)).catch(() => {}),
    async makeRoom(): Promise<void> {
      await rm(filler);
      while ((await emulator.control("GET", "ready")).status !== 200);
    },
    /** The state that a start finds after a kill at this moment. */
    async afterKill(): Promise<TestEmulator> {
      const copy = await createTemporaryFolder(t);
      execFileSync("cp", ["-r", `${folder}/.`, copy]);
      await rm(join(copy, "emulator.json.run"));
      return startTestEmulator(t, { file: join(copy, "emulator.json"), clock: {} });
    },
  };
}

const storeFailedResponse = {
  status: 503,
  body: {
    error: {
      code: "store_failed",
      message: "The emulator cannot write its state: no space is left on the disk (ENOSPC).",
      hint: "Nothing was changed. Free space on its disk, or fix the permissions of its files or database. Its log has the reason. It continues when it can write again.",
    },
  },
};

/** The last page of a file has space for some lines. */
async function repeatUntil503(send: () => ReturnType<TestEmulator["control"]>): Promise<void> {
  for (let i = 0; i < 1_000; i += 1) if ((await send()).status === 503) return;
  assert.fail("1,000 requests succeeded on a full disk");
}

const getClock = async ({ control }: TestEmulator) => (await control("GET", "clock")).body;

describe("clock while the disk is full", () => {
  it("rejects an advance without moving time, even after a kill", async (t) => {
    const disk = await startOnSmallDisk(t);
    if (disk === undefined) return t.skip("no small disk can be mounted here");
    const { emulator } = disk;
    const advance = () => emulator.control("POST", "clock/advance", { body: { by: "PT1H" } });
    await disk.fill();
    await repeatUntil503(advance);
    const before = await getClock(emulator);
    for (let i = 0; i < 3; i += 1) assert.deepEqual(pickStatusAndBody(await advance()), storeFailedResponse);
    const request = { body: { mode: "real", speed: 60 } };
    assert.deepEqual(pickStatusAndBody(await emulator.control("PUT", "clock", request)), storeFailedResponse);
    assert.deepEqual(await getClock(emulator), before);

    await disk.makeRoom();
    assert.deepEqual(await getClock(emulator), before);
    assert.deepEqual(await getClock(await disk.afterKill()), before);
    assert.equal((await advance()).status, 200);
    assert.deepEqual(await getClock(await disk.afterKill()), await getClock(emulator));
  });

  it("repeats a delivery whose outcome was not stored once space is available", async (t) => {
    const disk = await startOnSmallDisk(t);
    if (disk === undefined) return t.skip("no small disk can be mounted here");
    const { emulator } = disk;
    const hook = await startReceiver(t);
    await createWebhook(emulator, hook.url);
    const waitForRuns = async (count: number) => {
      while (hook.received.length < count) await emulator.control("GET", "ready");
    };
    assert.equal((await emulator.control("PUT", "clock", { body: { mode: "auto" } })).status, 200);
    let isFull = false;
    hook.respond(async (_, response) => {
      await disk.fill();
      let speed = 1;
      // A speed that changes nothing would write nothing.
      const changeSpeed = () => {
        speed = 3 - speed;
        return emulator.control("PUT", "clock", { body: { speed } });
      };
      await repeatUntil503(changeSpeed);
      response.writeHead(500).end();
      isFull = true;
    });
    await createDraftContract(emulator.api);
    while (!isFull) await emulator.control("GET", "ready");
    hook.respond((_, response) => {
      hook.respond(200);
      response.writeHead(500).end();
    });
    await disk.makeRoom();
    await waitForRuns(3);
    while ((await listOutcomes(emulator))[0]?.outcome === "pending");
    assert.deepEqual(await listOutcomes(emulator), [{ outcome: "delivered", attempts: [500, 200] }]);
  });

  it("waits in auto mode and resumes when space is available", async (t) => {
    const wall = new ManualWallClock();
    let room = Number.POSITIVE_INFINITY;
    const disk = createGatedDisk((call) => {
      if (call === "write") room -= 1;
      return call === "write" && room < 0 ? 0 : undefined;
    });
    const path = join(await createTemporaryFolder(t), "emulator.json");
    const store = await openFileStore({ path, collections, wall, disk });
    const { add, runs, clock } = await createRunnerFixture(t, {}, { store, wall, clock: { mode: "auto" } });
    room = 1;
    await add([toMilliseconds(5), "a"]);
    while (store.writable) await waitForIdle();
    // The file is truncated first, which may take any time.
    for (let turns = 0; turns < 500 && clock.now() !== initialTimeMs; turns += 1) await waitForIdle();
    assert.deepEqual([runs, clock.now()], [[], initialTimeMs]);

    room = Number.POSITIVE_INFINITY;
    while (runs.length === 0) {
      await waitForIdle();
      await wall.pass(10_000);
    }
    assert.deepEqual(runs, ["+5 a"]);
  });

  it("runs a due entry whose removal was not stored", async (t) => {
    const wall = new ManualWallClock();
    let isFull = false;
    const disk = createGatedDisk((call) => (call === "write" && isFull ? 0 : undefined));
    const path = join(await createTemporaryFolder(t), "emulator.json");
    const store = await openFileStore({ path, collections, wall, disk });
    const { add, runs } = await createRunnerFixture(t, {}, { store, wall });
    await add([0, "a"]);
    const [entry] = store.list(schedule);
    isFull = true;
    // The entry is removed in memory before it starts, and is restored when the write fails.
    await assert.rejects(store.transaction("remove", (tx) => dequeue(tx, entry!)));
    assert.deepEqual(runs, []);

    isFull = false;
    while (runs.length === 0) {
      await waitForIdle();
      await wall.pass(10_000);
    }
    assert.deepEqual(runs, ["+0 a"]);
  });
});

interface Delivery {
  readonly outcome: string;
  readonly attempts: readonly { readonly status: number }[];
}

const listOutcomes = async ({ control }: TestEmulator) =>
  ((await control("GET", "deliveries")).body as { items: Delivery[] }).items.map(({ outcome, attempts }) => ({
    outcome,
    attempts: attempts.map(({ status }) => status),
  }));
