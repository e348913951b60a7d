import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Delivery, Webhook } from "../../src/console/state/deliveries.ts";
import { buildTimeline, layOutAxis } from "../../src/console/timeline/tracks.ts";

import { begin, createDelivery, createWebhook, formatIsoTime } from "./webhook-records.ts";

const minute = 60_000;

const listMarkNames = (deliveries: readonly Delivery[], webhooks: readonly Webhook[], now: number) =>
  buildTimeline(deliveries, webhooks, begin + now * minute).tracks.map(({ marks }) => marks.map(({ name }) => name));

describe("timeline axis", () => {
  it("compresses idle time and labels its duration", () => {
    const { ticks } = layOutAxis([begin, begin + 1_000, begin + 75 * minute, begin]);
    assert.deepEqual(
      ticks.map(({ x, gap }) => [x, gap]),
      [
        [60, undefined],
        [90, undefined],
        [174, "1 h 14 min"],
      ],
    );
  });
});

describe("timeline", () => {
  it("labels past and planned attempts", () =>
    assert.deepEqual(
      listMarkNames(
        [createDelivery(1, [0, 5, 15], { next_attempt_at: formatIsoTime(35) })],
        [createWebhook({ failure_count: 3 })],
        16,
      ),
      [
        [
          "attempt 1 of 7, immediately, 503",
          "attempt 2 of 7, at +5 min, 503",
          "attempt 3 of 7, at +15 min, 503",
          "attempt 4 of 7, planned at +35 min",
          "attempt 5 of 7, if all earlier attempts fail, at +1 h 15 min",
          "attempt 6 of 7, if all earlier attempts fail, at +2 h 35 min",
        ],
      ],
    ));

  it("sorts deleted webhooks last and shows why deliveries were skipped", () => {
    const passedOver = (id: number, webhook_id: number, outcome: Delivery["outcome"]) =>
      createDelivery(id, [], { webhook_id, outcome });
    const { tracks } = buildTimeline(
      [passedOver(1, 1, "skipped_deleted"), passedOver(2, 3, "skipped_not_allowed")],
      [createWebhook({ id: 2 }), createWebhook({ id: 3 })],
      begin,
    );
    assert.deepEqual(
      tracks.map(({ id, marks }) => [id, marks.map(({ name }) => name)]),
      [
        [2, []],
        [3, ["not sent: address not allowed"]],
        [1, ["skipped: webhook deleted"]],
      ],
    );
  });

  it("shows planned attempts of a disabled webhook as skipped, without assumed retries", () =>
    assert.deepEqual(
      listMarkNames(
        [
          createDelivery(1, [0], { next_attempt_at: formatIsoTime(5) }),
          createDelivery(2, [], { outcome: "skipped_disabled" }),
        ],
        [createWebhook({ status: "DISABLED_BY_ERROR", failure_count: 6 })],
        1,
      ),
      [["attempt 1 of 7, immediately, 503", "skipped: webhook disabled", "attempt 2 of 7, will be skipped at +5 min"]],
    ));

  it("counts seven attempts, including the planned attempt of a re-enabled webhook", () =>
    assert.deepEqual(
      listMarkNames(
        [createDelivery(1, [0, 5, 15, 35, 75, 155], { next_attempt_at: formatIsoTime(315) })],
        [createWebhook()],
        156,
      )[0]!.slice(5),
      ["attempt 6 of 7, at +2 h 35 min, 503", "attempt 7 of 7, planned at +5 h 15 min"],
    ));

  it("stacks simultaneous marks, failures first, and shows a count beyond three", () => {
    const many = Array.from({ length: 50 }, (_, at) =>
      createDelivery(at + 1, [0], { outcome: at === 40 ? "failed" : "delivered" }),
    );
    const { marks, slots } = buildTimeline(many, [createWebhook()], begin).tracks[0]!;
    assert.deepEqual(
      marks.map(({ delivery: id, tone, slot, more }) => [id, tone, slot, more]),
      [
        [41, "bad", 0, undefined],
        [1, "good", 1, undefined],
        [2, "good", 2, 48],
      ],
    );
    assert.equal(slots, 3);
  });

  it("shows a deleted webhook in a separate row", () =>
    assert.deepEqual(listMarkNames([createDelivery(1, [0], { outcome: "delivered" })], [], 1), [
      ["attempt 1 of 7, immediately, 200"],
    ]));
});
