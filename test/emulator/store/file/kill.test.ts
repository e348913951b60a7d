import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { openFileStore } from "../../../../emulator/store/file/file-store.ts";
import { recover } from "../../../../emulator/store/file/recovery.ts";
import { LiveStore } from "../../../../emulator/store/live/live-store.ts";
import type { Store } from "../../../../emulator/store/port.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { systemDisk } from "../../../../src/files/disk.ts";
import { getProgramPath } from "../../../support/program.ts";
import { collections, createTemporaryFolder, owners, people } from "../../../support/store.ts";

const kills = 30;

describe("file store under write load", () => {
  it(`loses no acknowledged write in ${kills} kills, and reopens after each`, async (t) => {
    const folder = await createTemporaryFolder(t);
    const path = join(folder, "emulator.json");
    const acknowledgedIds: number[] = [];
    for (let kill = 0; kill < kills; kill += 1) {
      const from = (acknowledgedIds.at(-1) ?? 0) + 1_000;
      acknowledgedIds.push(...(await writeUntilKilled(path, from, 1 + Math.floor(Math.random() * 120))));
      // Half of the processes find the files of the killed one. The others find those of a clean close.
      const store = kill % 2 ? await readOnly(path) : await openFileStore({ path, collections, wall: systemWallClock });
      const lost = acknowledgedIds.filter(
        (id) => !store.get(people, id) || store.lookup(owners, `b${id}`) === undefined,
      );
      const rows = store.list(people);
      const storedOwners = rows.map((row) => store.lookup(owners, `a${row.id}`));
      const torn = storedOwners.filter((owner) => owner === undefined).length + 2 * rows.length - store.size(owners);
      assert.deepEqual({ kill, lost, torn }, { kill, lost: [], torn: 0 });
      await store.close();
    }
    assert.ok(acknowledgedIds.length > kills);
  });
});

/** Opens the contents of the files without changing the files. */
async function readOnly(path: string): Promise<Store> {
  return new LiveStore({ state: (await recover(systemDisk, path, collections)).state, wall: systemWallClock });
}

/** Returns the numbers that were acknowledged before the process was killed after the n-th. */
async function writeUntilKilled(path: string, from: number, count: number): Promise<number[]> {
  const child = spawn(process.execPath, [getProgramPath("store-writer"), path, String(from)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const closed = new Promise((resolve) => child.once("close", resolve));
  const acknowledgedIds: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledgedIds.push(Number(line));
    if (acknowledgedIds.length === count) child.kill("SIGKILL");
  }
  await closed;
  assert.equal(child.signalCode, "SIGKILL");
  return acknowledgedIds;
}
