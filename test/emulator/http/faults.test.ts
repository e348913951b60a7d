import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RequestFault } from "../../../emulator/http/handler.ts";
import { createOperation, createSingleOperationPart, router, type TestHandler } from "./made-up.ts";
import { createDeferred, startTestServer, stateless } from "./serving.ts";

const operation = createOperation(router, "GET", "/made");
const wholeResponse = { message: "a whole answer" };

describe("scripted fault", () => {
  it("is evaluated once after routing, with or without an operation", async (t) => {
    const requests: unknown[] = [];
    const { send } = await startTestServer(t, [createSingleOperationPart(operation, () => wholeResponse)], {
      faultFor: ({ method, target, headers }, matched) => {
        requests.push([method, target, headers["x-a"], matched?.id]);
        return undefined;
      },
    });
    await send("GET", "/made?b=c", { headers: { "x-a": "1" } });
    await send("GET", "/nowhere");
    assert.deepEqual(requests, [
      ["GET", "/made?b=c", "1", "made.get"],
      ["GET", "/nowhere", undefined, undefined],
    ]);
  });

  it("replaces the response of the operation", async (t) => {
    let ran = 0;
    const count: TestHandler = () => {
      ran += 1;
    };
    const fault: RequestFault = { status: 503, headers: { "retry-after": "7" }, body: { detail: "later" } };
    const { send } = await startTestServer(t, [createSingleOperationPart(operation, count)], { faultFor: () => fault });
    assert.deepEqual(await send("GET", "/made"), {
      status: 503,
      headers: { "content-type": "application/json", "retry-after": "7" },
      body: '{"detail":"later"}',
    });
    assert.equal(ran, 0);
  });

  it("resets the connection before the operation runs", async (t) => {
    let ran = 0;
    const count: TestHandler = () => {
      ran += 1;
    };
    const { origin, log } = await startTestServer(t, [createSingleOperationPart(operation, count)], {
      faultFor: () => ({ reset: true }),
    });
    await assert.rejects(
      fetch(`${origin}/made`),
      ({ cause }: Error) => (cause as { code: string }).code === "ECONNRESET",
    );
    assert.equal(ran, 0);
    assert.deepEqual(
      log.list().map(({ status }) => status),
      [0],
    );
  });

  it("truncates a response", async (t) => {
    const { send, origin } = await startTestServer(t, [createSingleOperationPart(operation, () => wholeResponse)], {
      faultFor: () => ({ truncated: true }),
    });
    const fullBody = JSON.stringify(wholeResponse);
    assert.equal((await send("GET", "/made")).body, fullBody.slice(0, Math.floor(fullBody.length / 2)));
    await assert.rejects(async () => (await fetch(`${origin}/made`)).text());
  });

  it("delays a response by the wall clock until the client disconnects", async (t) => {
    const slept: number[] = [];
    const aborted = createDeferred();
    const wall = {
      ...stateless.wall,
      sleep: async (ms: number, signal?: AbortSignal) => {
        slept.push(ms);
        if (ms === 9_999) {
          signal?.addEventListener("abort", () => aborted.resolve());
          await aborted.promise;
        }
      },
    };
    let latencyMs = 250;
    const { send, origin } = await startTestServer(t, [createSingleOperationPart(operation, () => wholeResponse)], {
      wall,
      faultFor: () => ({ latencyMs }),
    });
    assert.equal((await send("GET", "/made")).status, 200);
    latencyMs = 9_999;
    const abort = new AbortController();
    const response = fetch(`${origin}/made`, { signal: abort.signal }).catch(() => "gone");
    while (slept.length < 2) await new Promise(setImmediate);
    abort.abort();
    assert.equal(await response, "gone");
    await aborted.promise;
    assert.deepEqual(slept.slice(0, 2), [250, 9_999]);
  });
});
