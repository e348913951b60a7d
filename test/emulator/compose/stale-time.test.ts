import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { EmulatorOptions } from "../../../emulator/index.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { startTestEmulator } from "../../support/emulator.ts";

/** The messages of an emulator that starts with a clock that differs by `ms` from the wall clock. */
async function startAndGetWarnings(t: TestContext, ms: number, options: EmulatorOptions = {}): Promise<string[]> {
  const lines: string[] = [];
  const start = new Date(Date.now() + ms).toISOString();
  await startTestEmulator(t, { clock: { mode: "manual", start }, log: (line) => lines.push(line), ...options });
  return lines;
}

const hoursToMs = (count: number): number => count * 3_600_000;
const warning =
  /^virtual time is \S+Z, behind this machine's. Other programs treat the emulator's tokens as expired. Run `svc emulator clock advance --to \S+Z`$/;

describe("virtual time far behind the wall clock", () => {
  it("causes a warning at startup once all tokens have expired by the wall clock", async (t) => {
    assert.deepEqual(await startAndGetWarnings(t, hoursToMs(-0.9)), []);
    assert.deepEqual(await startAndGetWarnings(t, hoursToMs(1_000)), []);
    const [line, ...rest] = await startAndGetWarnings(t, hoursToMs(-1.1));
    assert.match(line ?? "", warning);
    assert.deepEqual(rest, []);
  });

  it("causes a warning when it comes from an imported state", async (t) => {
    const file = join(await createTestFolder(t), "emulator.json");
    const start = new Date(Date.now() - hoursToMs(48)).toISOString();
    await (await startTestEmulator(t, { file, clock: { mode: "manual", start } })).close();
    const [line] = await startAndGetWarnings(t, 0, { file, clock: {} });
    assert.match(line ?? "", warning);
  });
});
