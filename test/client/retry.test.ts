import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { WallClock } from "../../src/base/clock.ts";
import { NetworkError, RetryAfterTooLongError } from "../../src/client/errors.ts";
import { parseRetryAfterMs, withRetries } from "../../src/client/network-failure.ts";
import type { HttpResponse } from "../../src/client/request.ts";

/** A wall clock that records durations of sleep and returns immediately. */
function fakeWall(): WallClock & { slept: number[] } {
  const slept: number[] = [];
  return {
    slept,
    now: () => Date.UTC(2031, 0, 1),
    monotonicNow: () => 0,
    async sleep(ms) {
      slept.push(ms);
    },
  };
}

const createResponse = (status: number, headers: Record<string, string> = {}): HttpResponse => ({
  status,
  headers,
  body: (async function* () {})(),
});
const createNetworkError = () => new NetworkError("http://x", "ECONNREFUSED", "refused", undefined);
const rule = { retries: 3, maxWaitMs: 60_000 };

function createScriptedSend(...outcomes: (HttpResponse | Error)[]) {
  let sent = 0;
  const send = async () => {
    const outcome = outcomes[sent]!;
    sent += 1;
    if (outcome instanceof Error) throw outcome;
    return outcome;
  };
  return { send, sent: () => sent };
}

describe("retry policy", () => {
  it("retries network errors and 5xx with exponential backoff and full jitter", async () => {
    const wall = fakeWall();
    const { send, sent } = createScriptedSend(
      createNetworkError(),
      createResponse(503),
      createResponse(502),
      createResponse(200),
    );
    const { status } = await withRetries(send, rule, wall, { random: () => 0.5 });
    assert.deepEqual([status, sent(), wall.slept], [200, 4, [250, 500, 1_000]]);
  });

  it("ends with the last response or the last failure", async () => {
    const { send } = createScriptedSend(createResponse(503), createResponse(503));
    assert.equal((await withRetries(send, { ...rule, retries: 1 }, fakeWall(), {})).status, 503);
    await assert.rejects(
      withRetries(
        createScriptedSend(createNetworkError(), createNetworkError()).send,
        { ...rule, retries: 1 },
        fakeWall(),
        {},
      ),
      NetworkError,
    );
  });

  for (const status of [400, 401, 404, 409, 422, 501]) {
    it(`does not retry after ${status}`, async () => {
      const { send, sent } = createScriptedSend(createResponse(status));
      await withRetries(send, rule, fakeWall(), {});
      assert.equal(sent(), 1);
    });
  }

  it("waits at least as long as Retry-After", async () => {
    const wall = fakeWall();
    const { send } = createScriptedSend(createResponse(429, { "retry-after": "42" }), createResponse(200));
    await withRetries(send, rule, wall, { random: () => 0 });
    assert.deepEqual(wall.slept, [42_000]);
  });

  it("stops if Retry-After exceeds the maximum wait", async () => {
    const wall = fakeWall();
    const { send, sent } = createScriptedSend(createResponse(429, { "retry-after": "61" }));
    await assert.rejects(
      withRetries(send, rule, wall, {}),
      (error) => error instanceof RetryAfterTooLongError && error.retryAfterMs === 61_000,
    );
    assert.deepEqual([sent(), wall.slept], [1, []]);
  });

  it("stops if the caller aborts during the wait", async () => {
    const abort = new AbortController();
    const wall = { ...fakeWall(), sleep: async () => abort.abort() };
    const { send, sent } = createScriptedSend(createResponse(503), createResponse(200));
    await assert.rejects(withRetries(send, rule, wall, { signal: abort.signal }), { name: "AbortError" });
    assert.equal(sent(), 1);
  });

  it("parses Retry-After as seconds or as a date", () => {
    const now = Date.UTC(2031, 0, 1);
    assert.deepEqual(
      ["7", "Wed, 01 Jan 2031 00:00:09 GMT", "Wed, 01 Jan 2020 00:00:00 GMT", "soon", undefined].map((text) =>
        parseRetryAfterMs(text === undefined ? {} : { "retry-after": text }, now),
      ),
      [7_000, 9_000, 0, undefined, undefined],
    );
  });
});
