import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { type EmulatorProcess, startEmulatorProcess } from "../support/emulator-process.ts";

/** `npm run kills` sets a large number. */
const killCount = Number(process.env.KILLS ?? 10);
const atOnce = 16;

/** Creates webhooks with sixteen concurrent writers, and kills the emulator after the n-th acknowledgement. */
async function writeUntilKilled({ api, kill }: EmulatorProcess, count: number): Promise<Map<number, string>> {
  const acknowledgedTitles = new Map<number, string>();
  let killed: Promise<void> | undefined;
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; killed === undefined; n += 1) {
      const title = `${writer}-${n}`;
      const body = { title, url: "https://receiver.example/", only_for_activities: ["CONTRACT_CREATED"] };
      const response = await api("POST", "/api/v2.1/public/webhooks/", { body }).catch(() => undefined);
      if (response === undefined) return;
      assert.equal(response.status, 201);
      acknowledgedTitles.set((response.body as { id: number }).id, title);
      if (acknowledgedTitles.size === count) killed = kill();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, (_, writer) => write(writer)));
  await killed;
  return acknowledgedTitles;
}

/** Returns the titles of the emulator's webhooks by ID. */
async function listWebhookTitles({ control }: EmulatorProcess): Promise<Map<number, string>> {
  const { body } = await control("GET", "webhooks");
  return new Map((body as { id: number; title: string }[]).map(({ id, title }) => [id, title]));
}

describe("emulator under write load", () => {
  it(`loses no acknowledged write when it is killed ${killCount} times`, async (t) => {
    const file = join(await createTestFolder(t), "emulator.json");
    const acknowledgedTitles = new Map<number, string>();
    for (let round = 0; round < killCount; round += 1) {
      const emulator = await startEmulatorProcess(t, { file });
      const found = await listWebhookTitles(emulator);
      const lost = [...acknowledgedTitles].filter(([id, title]) => found.get(id) !== title);
      assert.deepEqual({ round, lost }, { round, lost: [] });
      for (const [id, title] of await writeUntilKilled(emulator, 1 + Math.floor(Math.random() * 60))) {
        assert.equal(acknowledgedTitles.has(id), false, `id ${id} was given twice`);
        acknowledgedTitles.set(id, title);
      }
    }
    const last = await startEmulatorProcess(t, { file });
    const found = await listWebhookTitles(last);
    assert.deepEqual(
      [...acknowledgedTitles].filter(([id, title]) => found.get(id) !== title),
      [],
    );
  });
});

/** Makes a process read a wall clock that was set back by an hour. */
const wallClockSetBack = "--import=data:text/javascript,const%20{now}=Date;Date.now=()=>now()-3600000";

describe("virtual time after a kill", () => {
  it("continues after the last change if the wall clock was set back", async (t) => {
    const options = {
      file: join(await createTestFolder(t), "emulator.json"),
      clock: { mode: "real", speed: 1e5 },
    } as const;
    const killed = await startEmulatorProcess(t, options);
    const body = { title: "down", url: "http://localhost:9", only_for_activities: ["CONTRACT_CREATED"] };
    await killed.api("POST", "/api/v2.1/public/webhooks/", { body });
    await killed.control("POST", "activities", { body: { activity: "CONTRACT_CREATED" } });
    await killed.control("GET", "wait?outcome=skipped_disabled&timeout_ms=20000");
    await killed.kill();
    const restarted = await startEmulatorProcess(t, options, { NODE_OPTIONS: wallClockSetBack });
    const { body: log } = await restarted.control("GET", "deliveries");
    const { body: clock } = await restarted.control("GET", "clock");
    const lastAttempt = (log as { items: { attempts: { at: string }[] }[] }).items[0]!.attempts.at(-1)!;
    const { now } = clock as { now: string };
    assert.ok(now >= lastAttempt.at, `${now} is before the last attempt, ${lastAttempt.at}`);
  });
});
