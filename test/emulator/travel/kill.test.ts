import assert from "node:assert/strict";
import { it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { systemWallClock } from "../../../src/base/clock.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { type EmulatorProcess, startEmulatorProcess } from "../../support/emulator-process.ts";
import { describeForEachStore } from "../../support/postgres/each-store.ts";

/** `npm run kills` sets 200. */
const kills = Number(process.env.KILLS ?? 12);

/** The maximum delay of a kill after the request. Some precede its start, some follow its response. */
const maxDurationMs = 120;

const getRows = async ({ control }: Pick<EmulatorProcess, "control">): Promise<unknown> =>
  ((await control("GET", "state")).body as { rows: unknown }).rows;

describeForEachStore("kill -9 during save, restore and rewind", (createStoreOptions) => {
  it(`leaves the old or the new state and complete snapshots after ${kills} kills`, async (t) => {
    const options = { port: 0, clock: { mode: "manual" }, ...(await createStoreOptions(t)) } as const;
    const first = await startTestEmulator(t, options);
    await createDraftContract(first.api);
    await first.snapshot("begun");
    const startedRows = await getRows(first);
    await first.close();
    const outcomes = { old: 0, new: 0 };
    let killed = await startEmulatorProcess(t, options);
    for (let kill = 0; kill < kills; kill += 1) {
      const before = await getRows(killed);
      await createDraftContract(killed.api);
      const previous = await getRows(killed);
      const [sendRequest, next] = (
        [
          [() => killed.control("PUT", `snapshots/kept-${kill}`), previous],
          [() => killed.control("POST", "snapshots/begun/restore"), startedRows],
          [() => killed.control("POST", "rewind", { body: { steps: 1 } }), before],
        ] as const
      )[kill % 3]!;
      const request = sendRequest().catch(() => undefined);
      await systemWallClock.sleep(Math.random() * maxDurationMs);
      await killed.kill();
      await request;
      killed = await startEmulatorProcess(t, options);
      outcomes[await checkFoundState(killed, { previous, next })] += 1;
    }
    t.diagnostic(`${kills} kills: ${JSON.stringify(outcomes)}`);
  });
});

/** The state that a start finds. Fails for any other state and for an incomplete snapshot. */
async function checkFoundState(
  emulator: EmulatorProcess,
  { previous, next }: { readonly previous: unknown; readonly next: unknown },
): Promise<"old" | "new"> {
  const rows = await getRows(emulator);
  const isOld = isDeepStrictEqual(rows, previous);
  if (!isOld) assert.deepEqual(rows, next);
  const names = ((await emulator.control("GET", "snapshots")).body as { name: string }[]).map(({ name }) => name);
  for (const name of names) assert.equal((await emulator.control("GET", `snapshots/${name}`)).status, 200, name);
  for (const name of names) if (name.startsWith("kept-")) await emulator.control("DELETE", `snapshots/${name}`);
  return isOld ? "old" : "new";
}
