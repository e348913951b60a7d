import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startEmulator } from "../../emulator/index.ts";
import { readCorpus } from "../../src/verify/corpus.ts";
import { replayOnEmulator } from "../../src/verify/replay/replay.ts";
import { buildVerifyReport } from "../../src/verify/report.ts";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { startTestEmulator } from "../support/emulator.ts";
import {
  populateService,
  readReferenceData,
  recordSession,
  runContractJourney,
  subscribe,
} from "../support/verify/recorded-session.ts";

describe("replay of a thousand requests", () => {
  it("finds no differences with other IDs and times", async (t) => {
    const folder = `${await createTestFolder(t)}/corpus`;
    const service = await startTestEmulator(t, { clock: { mode: "manual", start: "2026-07-08T09:10:11Z" } });
    // The service has been in use, so its IDs differ from those of a fresh emulator.
    await populateService(service, 7);
    const session = await recordSession(t, service, folder);
    await readReferenceData(session);
    await subscribe(session, session.receiverUrl, "CONTRACT_CREATED", "COUNTER_PARTY_CREATED");
    for (let at = 0; at < 99; at += 1)
      await runContractJourney(session, `Person${String.fromCharCode(97 + (at % 26), 97 + Math.floor(at / 26))}`);
    await session.end();
    const corpus = await readCorpus(folder);
    const requests = corpus.exchanges.filter(({ callee }) => callee !== "receiver");
    assert.ok(requests.length >= 1_000, `${requests.length}`);
    const { differences, compared } = buildVerifyReport(await replayOnEmulator(corpus, startEmulator), {});
    assert.deepEqual(differences, []);
    assert.ok(compared > 850, `${compared}`);
  });
});
