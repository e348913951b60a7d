import assert from "node:assert/strict";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { pickStatusAndBody, startTestEmulator } from "../../support/emulator.ts";
import { placeInFile } from "../../support/postgres/each-store.ts";
import { assertRejected } from "../../support/rejections.ts";
import {
  advance,
  createRejection as createErrorResponse,
  rewind,
  savedStatesHint,
  testRejectedRewind,
  testRewind,
} from "./rewinds.ts";

describe("rewind, in a file", () => testRewind(placeInFile));
describe("rejected rewind that changes nothing, in a file", () => testRejectedRewind(placeInFile));

describe("stored history", () => {
  const sizeOf = async (file: string): Promise<number> => {
    const folder = `${file}.history`;
    const files = await readdir(folder).catch(() => []);
    const sizes = await Promise.all(files.map(async (name) => (await stat(join(folder, name))).size));
    return sizes.reduce((sum, size) => sum + size, 0);
  };

  it("stays within its size limit and reports its start", async (t) => {
    const historyBytes = 60_000;
    const file = join(await createTestFolder(t), "emulator.json");
    const options = { file, deterministic: true, historyBytes };
    const sizes: number[] = [];
    for (let start = 0; start < 6; start += 1) {
      const emulator = await startTestEmulator(t, options);
      for (let i = 0; i < 5; i += 1) await createDraftContract(emulator.api);
      await advance(emulator, { by: "PT1H" });
      await emulator.close();
      sizes.push(await sizeOf(file));
    }
    assert.ok(Math.max(...sizes) > historyBytes / 3 && Math.max(...sizes) <= historyBytes, sizes.join(", "));
    const emulator = await startTestEmulator(t, options);
    const { status, body } = pickStatusAndBody(await emulator.control("POST", "rewind", { body: { steps: 100 } }));
    assert.equal(status, 409);
    const { message } = (body as { error: { message: string } }).error;
    const [, reach] = /\. It reaches back to (2031-[^ ]+Z)\. Nothing was changed\.$/.exec(message) ?? [message];
    assert.ok(Date.parse(reach!) > Date.parse("2031-01-02T03:04:05Z"), message);
    await rewind(emulator, { to: reach });
    await emulator.close();
    const without = await startTestEmulator(t, { ...options, historyBytes: 0 });
    await without.close();
    assert.equal(await sizeOf(file), 0);
  });

  it("reports its start after a rewind, even if the limit left no room", async (t) => {
    // Random IDs have no sequence position to store.
    const emulator = await startTestEmulator(t, {
      file: join(await createTestFolder(t), "emulator.json"),
      historyBytes: 1_000,
    });
    for (let i = 0; i < 3; i += 1) {
      await createDraftContract(emulator.api);
      await advance(emulator, { by: "PT1H" });
    }
    await rewind(emulator, { steps: 2 });
    const more = `Start with a larger SVC_HISTORY to retain more. ${savedStatesHint}`;
    const cases: [object, string][] = [
      [{ steps: 10 }, "10 steps: the history is empty"],
      [{ to: "2031-01-02T04:30:00Z" }, "to 2031-01-02T04:30:00Z: the history does not include that time"],
    ];
    for (const [body, lacks] of cases) {
      const message = `Cannot rewind ${lacks}. It reaches back to 2031-01-02T05:04:05.000Z. Nothing was changed.`;
      const expected = createErrorResponse(409, "rewind_out_of_range", message, more);
      await assertRejected(emulator, () => emulator.control("POST", "rewind", { body }), expected);
    }
    const { now, undone } = await rewind(emulator, { to: "2031-01-02T05:04:05Z" });
    assert.deepEqual({ now, undone }, { now: "2031-01-02T05:04:05.000Z", undone: 0 });
  });
});
