import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { startEmulator } from "../../emulator/index.ts";
import { type CorpusExchange, readCorpus } from "../../src/verify/corpus.ts";
import { openReplayReceiver } from "../../src/verify/replay/deliveries.ts";
import { ReplayLinks } from "../../src/verify/replay/links.ts";
import { replayOnEmulator } from "../../src/verify/replay/replay.ts";
import { createRequestSender } from "../../src/verify/replay/send.ts";
import { buildVerifyReport } from "../../src/verify/report.ts";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { createContractRequest } from "../support/contracts.ts";
import { measureCostRatio } from "../support/cost-ratio.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { readReferenceData, recordSession, subscribe } from "../support/verify/recorded-session.ts";

const commented = "CONTRACT_ACTIVITY_LOG_COMMENT_CREATED";

/** Records three contracts, of which the first gets three comments. */
async function recordThree(t: TestContext) {
  const folder = `${await createTestFolder(t)}/corpus`;
  const service = await startTestEmulator(t, { clock: { mode: "manual", start: "2026-03-04T05:06:07Z" } });
  const session = await recordSession(t, service, folder);
  await readReferenceData(session);
  await subscribe(session, session.receiverUrl, "CONTRACT_CREATED", commented);
  const body = createContractRequest();
  for (let at = 0; at < 3; at += 1) await session.api("POST", "/api/v2.1/public/contracts/", { body });
  for (const comment of ["Is it ready?", "When is it ready?", "Ready."]) {
    await session.api("POST", "/api/v2.1/public/contracts/1/comments/", { body: { comment } });
    await service.clock.advance({ by: 60_000 });
  }
  await session.end();
  return readCorpus(folder);
}

/** Replays the recording without the exchange of this operation or activity at a position. */
async function replayWithout(t: TestContext, name: string, position: number) {
  const corpus = await recordThree(t);
  const own = corpus.exchanges.filter(({ operation }) => operation === name);
  const isKept = (exchange: CorpusExchange) => exchange !== own[position];
  const exchanges = corpus.exchanges.filter(isKept);
  return buildVerifyReport(await replayOnEmulator({ ...corpus, exchanges }, startEmulator), {});
}

/** Returns a function that delivers this many webhooks without a contract to a replay, in their order or reversed. */
function matchDeliveries(count: number, addedFields: object, isReversed = false) {
  const bodies = Array.from({ length: count }, (_, at) => {
    const timestamp = new Date(Date.UTC(2026, 0) + at * 60_000).toISOString();
    return { activity: "COUNTER_PARTY_CREATED", activity_data: { timestamp, counterparty_id: at } };
  });
  const response = { status: 200, headers: [], body: Buffer.from("") };
  const exchanges = bodies.map((body, at): CorpusExchange => {
    const request = { method: "POST", target: "/hooks", headers: [], body: Buffer.from(JSON.stringify(body)) };
    return { callee: "receiver", operation: body.activity, at, file: String(at), request, response };
  });
  return async () => {
    const links = new ReplayLinks();
    const receiver = await openReplayReceiver(exchanges, links, () => 0);
    const sender = createRequestSender();
    for (const body of isReversed ? bodies.toReversed() : bodies)
      await sender.send({
        method: "POST",
        url: `${receiver.url}/hooks`,
        headers: [],
        body: Buffer.from(JSON.stringify({ ...body, ...addedFields })),
      });
    const context = { links, resource: "contracts", isFailure: false, isService: false };
    const compared = receiver.compare({ ...context, onIncomparable: () => {}, isOlder: () => false }, count);
    assert.deepEqual(
      compared.map(({ file, differences }) => [file, differences.length]).sort((a, b) => Number(a[0]) - Number(b[0])),
      bodies.map((_, at) => [String(at), Object.keys(addedFields).length]),
    );
    sender.close();
    await receiver.close();
  };
}

describe("replayed webhooks", () => {
  for (const position of [0, 1, 2]) {
    it(`has one difference if the recording lacks webhook ${position + 1} of three contracts`, async (t) => {
      const { differences } = await replayWithout(t, "CONTRACT_CREATED", position);
      assert.deepEqual(
        differences.map(({ id, count, recorded, replayed }) => [id, count, recorded, replayed]),
        [
          [
            "webhook:CONTRACT_CREATED:CONTRACT_CREATED:missing-activity",
            1,
            undefined,
            `CONTRACT_CREATED of contract ${position + 1}`,
          ],
        ],
      );
    });

    it(`has one difference if the recording lacks webhook ${position + 1} of three of a contract`, async (t) => {
      const { differences } = await replayWithout(t, commented, position);
      assert.deepEqual(
        differences.map(({ id, count, recorded, replayed }) => [id, count, recorded, replayed]),
        [[`webhook:${commented}:${commented}:missing-activity`, 1, undefined, `${commented} of contract 1`]],
      );
    });

    it(`has one difference if the emulator does not send webhook ${position + 1} of three of a contract`, async (t) => {
      const { differences } = await replayWithout(t, "comments.create", position);
      assert.deepEqual(
        differences.map(({ id, count, recorded, replayed, file }) => [id, count, recorded, replayed, file?.slice(6)]),
        [
          [
            `webhook:${commented}:${commented}:other-activity`,
            1,
            `${commented} of contract 1`,
            undefined,
            `${commented}.exchange.json`,
          ],
        ],
      );
    });
  }

  it("are not compared after the last exchange, which the report says", async (t) => {
    const corpus = await recordThree(t);
    const exchanges = corpus.exchanges.slice(
      0,
      corpus.exchanges.findLastIndex(({ operation }) => operation === commented),
    );
    const { differences, incomparable } = buildVerifyReport(
      await replayOnEmulator({ ...corpus, exchanges }, startEmulator),
      {},
    );
    assert.deepEqual(
      [differences, incomparable],
      [[], [{ reason: "webhooks of this time may be missing in the recording", exchanges: 1 }]],
    );
  });

  it("are not compared for a contract that the replay does not create", async (t) => {
    const { differences, incomparable } = await replayWithout(t, "contracts.create", 2);
    assert.deepEqual(
      [differences, incomparable],
      [[], [{ reason: "no response of the replay contains the contract of the webhook", exchanges: 1 }]],
    );
  });

  it("are matched if they have no contract and arrive in another order", matchDeliveries(120, {}, true));

  for (const [name, addedFields] of Object.entries({ equal: {}, "with another field": { is_test: true } }))
    it(`are matched in linear time if they have no contract and are ${name}`, async () => {
      const [many, few] = [matchDeliveries(400, addedFields), matchDeliveries(100, addedFields)];
      const times = await measureCostRatio(many, few, 8);
      assert.ok(times < 8, `4 times as many webhooks take ${times.toFixed(1)} times as long`);
    });
});
