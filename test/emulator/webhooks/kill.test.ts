import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { createDraftContract, initialTime } from "../../support/contracts.ts";
import { type EmulatorProcess, startEmulatorProcess } from "../../support/emulator-process.ts";
import { startReceiver } from "../../support/receiver.ts";

const subscribe = ({ api }: EmulatorProcess, url: string) =>
  api("POST", "/api/v2.1/public/webhooks/", {
    body: { title: "test", url, only_for_activities: ["CONTRACT_CREATED"] },
  });

/** Runs work for 1 to `count`, this many at a time. */
async function runConcurrently(count: number, atOnce: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 1;
  const worker = async () => {
    while (next <= count) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** The number of waiting entries in the schedule, and the last due time. */
async function getQueue({ control }: EmulatorProcess) {
  const { pending, next_due } = (await control("GET", "clock")).body as { pending: number; next_due: string };
  return { pending, next_due };
}

const advance = ({ control }: EmulatorProcess, by: string) => control("POST", "clock/advance", { body: { by } });

/** The only delivery in short form: outcome, minutes to the next attempt, and attempts as `+minutes status`. */
async function listDeliveries({ control }: EmulatorProcess) {
  const minutes = (time: string) => (Date.parse(time) - Date.parse(initialTime)) / 60_000;
  const { body } = await control("GET", "deliveries");
  const { items } = body as {
    items: { outcome: string; next_attempt_at: string | null; attempts: { at: string; status: number }[] }[];
  };
  return items.map(({ outcome, next_attempt_at: next, attempts }) => ({
    outcome,
    next: next && minutes(next),
    attempts: attempts.map(({ at, status }) => `+${minutes(at)} ${status}`),
  }));
}

describe("webhook schedule after kill -9", () => {
  it("does not change after a kill between attempts", async (t) => {
    const file = join(await createTestFolder(t), "emulator.json");
    const sink = await startReceiver(t);
    sink.respond(500);
    const start = () => startEmulatorProcess(t, { file, clock: { mode: "manual", start: initialTime } });

    let emulator = await start();
    await subscribe(emulator, sink.url);
    await createDraftContract(emulator.api);
    await advance(emulator, "PT1M");
    const attemptTimes = [0, 5, 15, 35, 75, 155];
    const attempts = attemptTimes.map((at) => `+${at} 500`);
    // Each process runs until one minute after the next attempt, and is then killed.
    for (let i = 1; i < attemptTimes.length; i += 1) {
      await emulator.kill();
      emulator = await start();
      const next = attemptTimes[i]!;
      assert.deepEqual(await listDeliveries(emulator), [{ outcome: "retrying", next, attempts: attempts.slice(0, i) }]);
      await advance(emulator, `PT${next - attemptTimes[i - 1]!}M`);
    }

    await emulator.kill();
    emulator = await start();
    assert.deepEqual(await listDeliveries(emulator), [{ outcome: "retrying", next: 315, attempts }]);
    const { body } = await emulator.control("GET", "webhooks");
    const [{ status, failure_count }] = body as [{ status: string; failure_count: number }];
    assert.deepEqual({ status, failure_count }, { status: "DISABLED_BY_ERROR", failure_count: 6 });
    await advance(emulator, "PT3H");
    assert.deepEqual(await listDeliveries(emulator), [{ outcome: "skipped_disabled", next: null, attempts }]);
    assert.equal(sink.received.length, 6);
  });

  it("repeats an attempt interrupted by a kill", async (t) => {
    const file = join(await createTestFolder(t), "emulator.json");
    const sink = await startReceiver(t);
    sink.respond(500);
    const start = () => startEmulatorProcess(t, { file, clock: { mode: "manual", start: initialTime } });

    const before = await start();
    await subscribe(before, sink.url);
    await createDraftContract(before.api);
    await advance(before, "PT1M");
    const attemptReceived = new Promise<void>((resolve) => sink.respond(() => resolve()));
    const broken = advance(before, "PT10M").catch(() => "nobody answered");
    await attemptReceived;
    await before.kill();
    assert.equal(await broken, "nobody answered");

    sink.respond(200);
    const after = await start();
    await advance(after, "PT10M");
    assert.deepEqual(await listDeliveries(after), [
      { outcome: "delivered", next: null, attempts: ["+0 500", "+5 200"] },
    ]);
    const bodies = new Set(sink.received.map(({ body }) => body.toString()));
    assert.deepEqual([sink.received.length, bodies.size], [3, 1]);
  });

  it("retains 10,000 waiting retries in order", async (t) => {
    const file = join(await createTestFolder(t), "emulator.json");
    const sink = await startReceiver(t);
    const start = () => startEmulatorProcess(t, { file, clock: { mode: "manual", start: initialTime } });
    const [receivers, events, unsure] = [2_000, 5, 256];
    const retries = receivers * events;

    sink.respond(500);
    const first = await start();
    await runConcurrently(receivers, 16, async (n) => {
      assert.equal((await subscribe(first, `${sink.url}/${n}`)).status, 201);
    });
    // One failure less than the limit; the retries come due half a minute apart.
    for (let event = 0; event < events; event += 1) {
      await createDraftContract(first.api);
      await advance(first, "PT30S");
    }
    await first.kill();
    assert.equal(sink.received.length, retries);

    const second = await start();
    assert.deepEqual(await getQueue(second), {
      pending: retries,
      next_due: initialTime.replace("04:05Z", "09:05.000Z"),
    });
    const amidst = new Promise<void>((resolve) => {
      sink.respond((_, response) => {
        response.end();
        if (sink.received.length === retries + 4_321) resolve();
      });
    });
    const broken = advance(second, "PT1H").catch(() => "nobody answered");
    await amidst;
    await second.kill();
    assert.equal(await broken, "nobody answered");

    const third = await start();
    await advance(third, "PT1H");
    assert.deepEqual(await getQueue(third), { pending: 0, next_due: null });
    // The position of each retry in the queue: by contract, then by receiver.
    const positions = sink.received.slice(retries).map(({ url, body }) => {
      const { contract_id } = JSON.parse(body.toString()) as { contract_id: number };
      return (contract_id - 1) * receivers + Number(url.slice(1)) - 1;
    });
    assert.equal(new Set(positions).size, retries);
    const repeated = positions.length - retries;
    assert.ok(repeated <= unsure, `${repeated} were made again, though no more than ${unsure} were not yet recorded`);
    const firsts = [...new Set(positions)];
    // They are created and sent concurrently, so a busy machine reorders some, but less than a quarter.
    const outOfTurn = firsts.filter((position, turn) => Math.abs(position - turn) > receivers / 4);
    assert.deepEqual(outOfTurn, []);
    const contracts = firsts.map((position) => Math.floor(position / receivers));
    assert.deepEqual(
      contracts,
      contracts.toSorted((a, b) => a - b),
    );
  });
});
