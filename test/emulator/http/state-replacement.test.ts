import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createPart } from "../../../emulator/http/handler.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import { StateReplacedError } from "../../../emulator/store/port.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { createPerson, people } from "../../support/store.ts";
import { contracts, createOperation, createSingleOperationPart, emulator, router } from "./made-up.ts";
import { createDeferred, startTestServer, stateless } from "./serving.ts";

const jsonType = { "content-type": "application/json" };

describe("state replacement during a request", () => {
  const respondLate = () => {
    throw new StateReplacedError("made waited");
  };
  const message = "The state was replaced while this request was in progress. Nothing was saved.";

  for (const [label, service, path, body] of [
    ["an operation", router, "/made", { detail: message }],
    ["the control plane", emulator, "/_emulator/made", { error: { code: "state_replaced", message } }],
    ["an undeclared path that a cluster serves", contracts, "/forwarded", { detail: message }],
  ] as const) {
    it(`causes a retryable 503 response and a finding for ${label}`, async (t) => {
      const parts = [
        createSingleOperationPart(createOperation(service, "GET", service === emulator ? path : "/made"), respondLate),
      ] as const;
      const { send, log, bugs } = await startTestServer(t, parts, { fallback: respondLate });
      assert.deepEqual(await send("GET", path), {
        status: 503,
        headers: { ...jsonType, "retry-after": "1", "x-svc-unchanged": "true" },
        body: JSON.stringify(body),
      });
      assert.deepEqual(
        log.list()[0]!.findings.map(({ code }) => code),
        ["state-replaced"],
      );
      assert.deepEqual(bugs, []);
    });
  }

  it("is awaited by a request that arrives meanwhile, also if another one follows", async (t) => {
    const store = openMemoryStore({ collections: [people], wall: systemWallClock });
    const operation = createOperation(router, "GET", "/made");
    const handlers = { [operation.id]: () => store.transaction("made", (tx) => ({ people: tx.count(people) })) };
    const [arrived, saved] = [createDeferred(), createDeferred()];
    const faultFor = () => void arrived.resolve();
    const parts = [createPart({ operations: [operation], handlers, context: { ...stateless, store } })] as const;
    const { send } = await startTestServer(t, parts, { faultFor });
    const newState = store.createEmptyStore();
    await newState.transaction("fill", (tx) => tx.put(people, createPerson(1)));
    const first = store.replaceWith(store.createEmptyStore(), { saveReplaced: () => saved.promise });
    const second = store.replaceWith(newState);
    void arrived.promise.then(saved.resolve);
    const response = await send("GET", "/made");
    await Promise.all([first, second]);
    assert.deepEqual(response, { status: 200, headers: jsonType, body: '{"people":1}' });
  });
});
