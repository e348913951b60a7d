import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { testFolder } from "../../support/cli-emulator.ts";
import { begin, draft } from "../../support/contracts.ts";
import { type EmulatorProcess, emulatorProcess } from "../../support/emulator-process.ts";
import { receiver } from "../../support/receiver.ts";

const subscribe = ({ api }: EmulatorProcess, url: string) =>
  api("POST", "/api/v2.1/public/webhooks/", {
    body: { title: "test", url, only_for_activities: ["CONTRACT_CREATED"] },
  });

const advance = ({ ask }: EmulatorProcess, by: string) => ask("POST", "clock/advance", { body: { by } });

/** The one delivery, in few words: outcome, minutes to the next attempt, and attempts as `+minutes status`. */
async function told({ ask }: EmulatorProcess) {
  const minutes = (time: string) => (Date.parse(time) - Date.parse(begin)) / 60_000;
  const { body } = await ask("GET", "deliveries");
  const { items } = body as {
    items: { outcome: string; next_attempt_at: string | null; attempts: { at: string; status: number }[] }[];
  };
  return items.map(({ outcome, next_attempt_at: next, attempts }) => ({
    outcome,
    next: next && minutes(next),
    attempts: attempts.map(({ at, status }) => `+${minutes(at)} ${status}`),
  }));
}

describe("kill -9", () => {
  it("between attempts leaves the schedule where it was, over all of its retries", async (t) => {
    const file = join(await testFolder(t), "emulator.json");
    const sink = await receiver(t);
    sink.answer(500);
    const start = () => emulatorProcess(t, { file, clock: { mode: "manual", start: begin } });

    let on = await start();
    await subscribe(on, sink.url);
    await draft(on.api);
    await advance(on, "PT1M");
    const planned = [0, 5, 15, 35, 75, 155];
    const attempts = planned.map((at) => `+${at} 500`);
    // Each process lives to one minute after the next attempt, and is killed there.
    for (let made = 1; made < planned.length; made += 1) {
      await on.kill();
      on = await start();
      const next = planned[made]!;
      assert.deepEqual(await told(on), [{ outcome: "retrying", next, attempts: attempts.slice(0, made) }]);
      await advance(on, `PT${next - planned[made - 1]!}M`);
    }

    await on.kill();
    on = await start();
    assert.deepEqual(await told(on), [{ outcome: "retrying", next: 315, attempts }]);
    const { body } = await on.ask("GET", "webhooks");
    const [{ status, failure_count }] = body as [{ status: string; failure_count: number }];
    assert.deepEqual({ status, failure_count }, { status: "DISABLED_BY_ERROR", failure_count: 6 });
    await advance(on, "PT3H");
    assert.deepEqual(await told(on), [{ outcome: "skipped_disabled", next: null, attempts }]);
    assert.equal(sink.received.length, 6);
  });

  it("within an attempt repeats it: at least once, never lost", async (t) => {
    const file = join(await testFolder(t), "emulator.json");
    const sink = await receiver(t);
    sink.answer(500);
    const start = () => emulatorProcess(t, { file, clock: { mode: "manual", start: begin } });

    const before = await start();
    await subscribe(before, sink.url);
    await draft(before.api);
    await advance(before, "PT1M");
    const reached = new Promise<void>((resolve) => sink.answer(() => resolve()));
    const broken = advance(before, "PT10M").catch(() => "nobody answered");
    await reached;
    await before.kill();
    assert.equal(await broken, "nobody answered");

    sink.answer(200);
    const after = await start();
    await advance(after, "PT10M");
    assert.deepEqual(await told(after), [{ outcome: "delivered", next: null, attempts: ["+0 500", "+5 200"] }]);
    const bodies = new Set(sink.received.map(({ body }) => body.toString()));
    assert.deepEqual([sink.received.length, bodies.size], [3, 1]);
  });
});
