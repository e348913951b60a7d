import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Delivery } from "../../src/api/webhook-health/attempts.ts";
import { assessWebhook } from "../../src/api/webhook-health/health.ts";
import {
  explainDelivery,
  findDeliverySteps,
  toResendOutcome,
  toStatusLabel,
} from "../../src/console/deliveries/explain.ts";
import { isolateText, revealInvisible, splitInvisible } from "../../src/console/format.ts";
import { clock, setClock } from "../../src/console/state/clock.ts";
import { webhooks } from "../../src/console/state/deliveries.ts";
import { findDestination } from "../../src/console/timeline/track-row.tsx";
import { describeNode, formatReference, isFailedNode, replaceCodes } from "../../src/console/trace/trace-drawer.tsx";
import { createDelivery, createWebhook, formatIsoTime } from "./webhook-records.ts";

const sixTimes = [0, 5, 15, 35, 75, 155];
const disabledWebhook = createWebhook({ status: "DISABLED_BY_ERROR", failure_count: 6 });

describe("delivery description in the console", () => {
  before(() => setClock({ now: formatIsoTime(0), mode: "manual", speed: 1, next_due: null, pending: 0 }));
  after(() => (clock.value = undefined));

  it("announces a skipped attempt if the webhook is disabled", () => {
    webhooks.value = [disabledWebhook];
    const waits = createDelivery(1, sixTimes, { next_attempt_at: formatIsoTime(315) });
    assert.deepEqual(toStatusLabel(waits), { tone: "bad", words: "will be skipped" });
    assert.equal(
      explainDelivery(waits, disabledWebhook),
      "The receiver responded 503. Failed 6 times. The attempt at 08:19:05 is skipped unless the webhook is enabled before.",
    );
    webhooks.value = [createWebhook()];
    assert.deepEqual(toStatusLabel(waits), { tone: "warn", words: "retrying" });
    assert.equal(
      explainDelivery(waits, createWebhook()),
      "The receiver responded 503. Attempt 6 of 7 failed. The next attempt is 2 h 40 min later, at 08:19:05.",
    );
    webhooks.value = undefined;
  });

  it("says when the first attempt is due, or why it is skipped", () => {
    const waits = createDelivery(1, [], { outcome: "waiting", next_attempt_at: formatIsoTime(5) });
    assert.deepEqual(
      [
        explainDelivery(waits, createWebhook()),
        explainDelivery(waits, disabledWebhook),
        explainDelivery(waits, undefined),
        explainDelivery({ ...waits, next_attempt_at: formatIsoTime(24 * 60) }, createWebhook()),
        explainDelivery({ ...waits, next_attempt_at: null }, createWebhook()),
      ],
      [
        "The first attempt is due at 03:09:05.",
        "The attempt at 03:09:05 is skipped unless the webhook is enabled before.",
        "The attempt at 03:09:05 is skipped, because the webhook was deleted.",
        "The first attempt is due at 2031-01-03 03:04:05.",
        "Waiting for the first attempt.",
      ],
    );
  });

  it("marks a failed resend as an error", () => {
    const again = (overrides: Parameters<typeof createDelivery>[2]) => {
      const delivery = createDelivery(1, [0], overrides);
      return { ...delivery, attempts: delivery.attempts.map((attempt) => ({ ...attempt, resend: true })) };
    };
    assert.deepEqual(
      [
        toResendOutcome(again({})),
        toResendOutcome(again({ outcome: "delivered" })),
        toResendOutcome(createDelivery(1, [])),
      ],
      [
        { tone: "bad", words: "Resent and failed: 503" },
        "Resent: 200",
        { tone: "bad", words: "Not sent: its address is not allowed" },
      ],
    );
  });

  it("lists resends of a skipped delivery without blaming the disabled webhook", () => {
    const [attempt] = createDelivery(1, [9]).attempts;
    const error = { code: "name_not_found", message: "The receiver's host name has no address." };
    const resends = [{ ...attempt!, resend: true, status: null, error }];
    assert.equal(
      explainDelivery(createDelivery(1, [], { outcome: "skipped_not_allowed", attempts: resends }), createWebhook()),
      "Skipped, because the address of the webhook was not allowed when the attempt was due. Resent since: the receiver's host name has no address.",
    );
  });

  it("counts resends separately", () => {
    const delivery = createDelivery(1, sixTimes, { outcome: "delivered" });
    const attempts = delivery.attempts.map((one, i) => ({ ...one, resend: i === 5 }));
    assert.equal(
      explainDelivery({ ...delivery, attempts }, createWebhook()),
      "Delivered at resend 1, 2 h 35 min after the activity.",
    );
  });
});

describe("advice about a delivery in the console", () => {
  const findSteps = (delivery: Delivery, forbidden: string | null = null) => {
    const facts = { deliveries: [delivery], faults: [], formatTime: String };
    const steps = findDeliverySteps(delivery, assessWebhook(createWebhook({ forbidden }), facts));
    return steps.map(({ words }) => words);
  };

  it("is about the last attempt", () =>
    assert.deepEqual(findSteps(createDelivery(1, [0])), ["Check the log of the receiver or its proxy."]));

  it("omits a failed resend of a delivery that arrived before", () => {
    const arrived = createDelivery(1, [0], { outcome: "delivered" });
    const [failed] = createDelivery(1, [9]).attempts;
    assert.deepEqual(findSteps({ ...arrived, attempts: [...arrived.attempts, { ...failed!, resend: true }] }), []);
  });

  it("omits the receiver's failure if the address is no longer allowed", () =>
    assert.deepEqual(findSteps(createDelivery(1, [0]), "Host 10.0.0.1 is not allowed for webhooks."), [
      "Create a webhook for another address.",
    ]));
});

describe("trace description in the console", () => {
  const attempt = { kind: "attempt", id: "attempt:1.1", because: "the first attempt" };

  it("uses the terms of the other views", () =>
    assert.deepEqual(
      [
        describeNode({ ...attempt, what: "attempt 1: 500", status: 500, error: null }),
        describeNode({ ...attempt, what: "attempt 2: connection_refused", status: null, error: "connection_refused" }),
        describeNode({
          kind: "request",
          what: "contracts.create POST /api/v2.1/public/contracts/",
          status: null,
          error: null,
        }),
        replaceCodes("webhook 1 is subscribed to CONTRACT_CREATED; it was skipped"),
        replaceCodes("retry 1, 5 min after connection_refused; unless webhook 1 is enabled first (DISABLED_BY_ERROR)"),
        formatReference("delivery:3"),
        formatReference("T-1"),
      ],
      [
        "attempt 1: 500",
        "attempt 2: connection refused",
        "contracts.create was called",
        "webhook 1 is subscribed to contract created; it was skipped",
        "retry 1, 5 min after connection refused; unless webhook 1 is enabled first (disabled by error)",
        "delivery 3",
        "T-1",
      ],
    ));

  it("marks a missing delivery as an error", () =>
    assert.deepEqual(
      [
        { status: 503, error: null, outcome: null },
        { status: null, error: "timeout", outcome: null },
        { status: null, error: null, outcome: "skipped_disabled" },
        { status: 204, error: null, outcome: null },
        { status: null, error: null, outcome: "retrying" },
      ].map(isFailedNode),
      [true, true, true, false, false],
    ));
});

describe("text from outside in the console", () => {
  it("shows invisible characters and direction changes", () => {
    assert.equal(revealInvisible("invoice\u202egnp.exe\u0007"), "invoice⟨U+202E⟩gnp.exe⟨U+0007⟩");
    assert.deepEqual(splitInvisible("a\r\nb\u202ec\r"), [
      { words: "a\r\nb", isCode: false },
      { words: "U+202E", isCode: true },
      { words: "c", isCode: false },
      { words: "U+000D", isCode: true },
    ]);
    assert.equal(
      revealInvisible("two\n\tlines, می\u200cخواهم and 👩\u200d💻"),
      "two\n\tlines, می\u200cخواهم and 👩\u200d💻",
    );
  });

  it("isolates right-to-left text from its surroundings", () =>
    assert.deepEqual([isolateText("Mine"), isolateText("مستقبل")], ["Mine", "\u2068مستقبل\u2069"]));
});

describe("arrow key in the timeline", () => {
  it("moves left and right in time, up and down within a moment", () => {
    const marks = [
      { x: 0, slot: 0 },
      { x: 30, slot: 0 },
      { x: 30, slot: 1 },
      { x: 30, slot: 2 },
      { x: 60, slot: 0 },
      { x: 60, slot: 1 },
    ];
    const walk = (from: number, ...keys: readonly string[]) => {
      let at = from;
      return keys.map((key) => {
        at = findDestination(`Arrow${key}`, at, marks) ?? at;
        return at;
      });
    };
    assert.deepEqual(walk(0, "Right", "Right", "Left", "Left", "Left"), [1, 4, 1, 0, 0]);
    assert.deepEqual(walk(1, "Down", "Down", "Down", "Right", "Left", "Up", "Up"), [2, 3, 3, 5, 2, 1, 1]);
    assert.deepEqual(
      [findDestination("Home", 3, marks), findDestination("End", 3, marks), findDestination("a", 3, marks)],
      [0, 5, undefined],
    );
  });
});
