import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Delivery } from "../../src/api/webhook-health/attempts.ts";
import {
  deliveries,
  mergeDeliveries,
  readDeliveries,
  readWebhooks,
  totalDeliveries,
} from "../../src/console/state/deliveries.ts";
import { deriveConsoleOperations } from "../../src/derive/specs.ts";
import { createDelivery } from "./webhook-records.ts";

/** Returns the change that an event reports: the delivery with only its last attempt. */
function toChange({ attempts, ...record }: Delivery) {
  return { ...record, attempt: attempts.at(-1) ?? null };
}

describe("deliveries of the console", () => {
  before(() => Object.assign(globalThis, { SVC_CONSOLE_OPERATIONS: deriveConsoleOperations() }));
  after(() => Reflect.deleteProperty(globalThis, "SVC_CONSOLE_OPERATIONS"));

  it("are loaded although events load the webhooks again all the time", async (t) => {
    let count = 0;
    t.mock.method(globalThis, "fetch", async (target: string) => {
      if (target.includes("deliveries?")) return Response.json({ items: [createDelivery(1, [1])], total: 1 });
      count += 1;
      if (count < 20) void readWebhooks();
      return Response.json([]);
    });
    await readDeliveries();
    assert.ok(count < 20, `${count} requests`);
    count = 20;
    await readWebhooks();
  });

  it("have the attempts of the response and of the events that arrived meanwhile", async (t) => {
    let respond = () => {};
    const items = [createDelivery(2, [3]), createDelivery(1, [1, 2])];
    t.mock.method(globalThis, "fetch", (target: string) => {
      if (!target.includes("deliveries?")) return Promise.resolve(Response.json([]));
      return new Promise((resolve) => {
        respond = () => resolve(Response.json({ items, total: 2 }));
      });
    });
    // These attempts belong to a state that another one has replaced.
    deliveries.value = new Map([[2, createDelivery(2, [3, 4, 5])]]);
    const reading = readDeliveries();
    mergeDeliveries([toChange(createDelivery(1, [1, 2, 3])), toChange(createDelivery(2, [3, 6]))]);
    mergeDeliveries([toChange(createDelivery(3, []))]);
    respond();
    await reading;
    assert.deepEqual(
      [...deliveries.value.values()].map(({ id, attempts }) => [id, attempts.map(({ number }) => number)]),
      [
        [2, [1, 2]],
        [1, [1, 2, 3]],
        [3, []],
      ],
    );
    const [, second] = deliveries.value.get(2)!.attempts;
    assert.deepEqual([second!.at, totalDeliveries.value], [createDelivery(2, [3, 6]).attempts[1]!.at, 3]);
  });
});
