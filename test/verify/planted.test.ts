import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startEmulator } from "../../emulator/index.ts";
import { readCorpus } from "../../src/verify/corpus.ts";
import { replayOnEmulator } from "../../src/verify/replay/on-emulator.ts";
import { buildReport } from "../../src/verify/report.ts";
import { testFolder } from "../support/cli/cli-emulator.ts";
import { emulator } from "../support/emulator.ts";
import { deviatingService } from "../support/verify/deviating-service.ts";
import { deviateResponses, deviateWebhooks, plantedResponses, plantedWebhooks } from "../support/verify/planted.ts";
import { journey, lookAround, recordSession, subscribe } from "../support/verify/recorded.ts";

const planted = [...Object.keys(plantedResponses), ...Object.keys(plantedWebhooks)].sort();
const activities = ["CONTRACT_CREATED", "COUNTER_PARTY_CREATED"];

/** Records a service that differs from the emulator in twenty ways. */
async function recordPlanted(t: Parameters<typeof emulator>[0]): Promise<string> {
  const folder = `${await testFolder(t)}/corpus`;
  const service = await emulator(t, { clock: { mode: "manual", start: "2026-03-04T05:06:07Z" } });
  const before = await deviatingService(t, service.clusters[0]!.url, deviateResponses, "responses");
  const session = await recordSession(t, service, folder, before);
  const receiver = await deviatingService(t, session.receiverUrl, deviateWebhooks, "requests");
  await lookAround(session);
  await subscribe(session, receiver, ...activities);
  await journey(session, "Zelda");
  await journey(session, "Yuri");
  await session.end();
  return folder;
}

describe("a service with 20 planted differences", () => {
  it("has 20 of them found, and no other", async (t) => {
    const corpus = await readCorpus(await recordPlanted(t));
    const report = buildReport(await replayOnEmulator(corpus, startEmulator), {});
    assert.equal(planted.length, 20);
    assert.deepEqual(report.differences.map(({ id }) => id).sort(), planted);
  });

  it("is what an emulator with --observed is", async (t) => {
    const folder = await recordPlanted(t);
    const lines: string[] = [];
    // The emulator that observes is recorded in its turn: its differences are those of the service.
    const observing = await emulator(t, {
      observed: folder,
      log: (line) => lines.push(line),
      clock: { mode: "manual", start: "2029-01-01T00:00:00Z" },
    });
    const again = `${await testFolder(t)}/corpus`;
    const session = await recordSession(t, observing, again);
    await lookAround(session);
    await subscribe(session, session.receiverUrl, ...activities);
    await journey(session, "Walter");
    await journey(session, "Ursula");
    await session.end();
    const report = buildReport(await replayOnEmulator(await readCorpus(again), startEmulator), {});
    assert.deepEqual(lines, []);
    assert.deepEqual(report.differences.map(({ id }) => id).sort(), planted);
  });
});
