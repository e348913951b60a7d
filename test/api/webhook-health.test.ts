import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Attempt, Delivery, Webhook } from "../../src/api/webhook-health/attempts.ts";
import type { Fault } from "../../src/api/webhook-health/causes.ts";
import { assessDeletedWebhook, assessWebhook } from "../../src/api/webhook-health/health.ts";
import { explainNoDeliveries } from "../../src/api/webhook-health/streak.ts";
import { createDelivery, createWebhook, formatIsoTime } from "../console/webhook-records.ts";

const sixTimes = [0, 5, 15, 35, 75, 155];
const formatTime = (time: string) => time.slice(11, 19);

const summarizeHealth = (webhook: Webhook, deliveries: readonly Delivery[], faults: readonly Fault[] = []) => {
  const { state, failing, explanation, steps, unsent } = assessWebhook(webhook, { deliveries, faults, formatTime });
  return {
    state: state.words,
    failing,
    explanation: explanation.join(" "),
    steps: steps.map(({ words, command }) => (command === undefined ? words : `${words}: ${command}`)),
    unsent: unsent.map(({ id }) => id),
  };
};

const createFault = (effect: Fault["effect"], overrides: Partial<Fault> = {}): Fault => ({
  id: 1,
  direction: "outgoing",
  effect,
  ...{ nth: 1, chance: 1, seed: 1, matched: 3, hit: 3 },
  ...overrides,
});

const changeAttempts = (delivery: Delivery, change: Partial<Attempt>): Delivery => ({
  ...delivery,
  attempts: delivery.attempts.map((attempt) => ({ ...attempt, ...change })),
});

describe("webhook diagnosis", () => {
  it("reports minimums if older deliveries were not read", () => {
    const webhook = createWebhook({ status: "DISABLED_BY_ERROR", failure_count: 6 });
    const deliveries = [createDelivery(9, sixTimes, { outcome: "skipped_disabled" })];
    const facts = { deliveries, isPartial: true, faults: [], formatTime };
    const { explanation, shortReason, steps } = assessWebhook(webhook, facts);
    assert.match(explanation.join(" "), /^Failing since 03:04:05 or earlier: .* At least 1 delivery is undelivered/);
    assert.match(shortReason, /; at least 1 did not arrive$/);
    assert.equal(steps.at(-1)?.words, "Resend the undelivered deliveries, oldest first");
    const unread = assessWebhook(createWebhook({}), { ...facts, deliveries: [] });
    assert.deepEqual([unread.failing, unread.isUntouched], [false, false]);
  });

  it("reports the problem, its consequences and the steps in order", () => {
    const disabled = createWebhook({
      status: "DISABLED_BY_ERROR",
      failure_count: 6,
      disabled_at: formatIsoTime(155),
      disabled_by: "attempt:2.6",
    });
    const lost = [
      createDelivery(2, sixTimes, { outcome: "skipped_disabled" }),
      createDelivery(1, sixTimes, { next_attempt_at: formatIsoTime(315) }),
    ];
    assert.deepEqual(summarizeHealth(disabled, lost), {
      state: "disabled",
      failing: true,
      explanation:
        "Failing since 03:04:05, first with CONTRACT_CREATED T-1: responded 503. Last attempt: the receiver responded 503. Disabled after 6 consecutive failures, at 05:39:05 (attempt:2.6). Scheduled attempts are skipped. 2 deliveries are undelivered. Enable the webhook before the next attempt to retry 1 of them.",
      steps: [
        "Check the log of the receiver or its proxy.",
        "Enable the webhook: svc emulator webhooks enable 1",
        "Resend 2 undelivered deliveries, oldest first: svc emulator webhooks resend 1",
      ],
      unsent: [1, 2],
    });
    assert.match(
      summarizeHealth(disabled, lost.slice(1)).explanation,
      / 1 delivery is undelivered\. Enable the webhook before the next attempt to retry it\.$/,
    );
    // Resends since then change the counter.
    for (const failure_count of [0, 7]) {
      assert.match(
        summarizeHealth({ ...disabled, failure_count }, lost).explanation,
        / Disabled after 6 consecutive failures, at /,
      );
    }
  });

  it("reports no success if no delivery has arrived since the webhook was enabled again", () => {
    assert.deepEqual(
      summarizeHealth(createWebhook(), [createDelivery(1, sixTimes, { next_attempt_at: formatIsoTime(315) })]),
      {
        state: "enabled again",
        failing: true,
        explanation:
          "Failing since 03:04:05, first with CONTRACT_CREATED T-1: responded 503. Last attempt: the receiver responded 503. Enabled again; no delivery has arrived since.",
        steps: ["Check the log of the receiver or its proxy."],
        unsent: [],
      },
    );
    const works = [
      createDelivery(2, [200], { outcome: "delivered" }),
      createDelivery(1, sixTimes, { outcome: "failed" }),
    ];
    assert.equal(
      summarizeHealth(createWebhook(), works).explanation,
      "The last delivery arrived. 1 delivery is undelivered and will not be retried.",
    );
  });

  it("claims nothing about failures after which a success may no longer be retained", () => {
    const deliveries = [createDelivery(1, sixTimes, { outcome: "failed" })];
    const day = 24 * 60;
    const assess = (overrides: Partial<Webhook>, days: number, all = deliveries) => {
      const facts = { deliveries: all, faults: [], formatTime, now: Date.parse(formatIsoTime(days * day)) };
      const { failing, since, explanation } = assessWebhook(createWebhook(overrides), facts);
      return { failing, since: since?.slice(0, 10) ?? null, explanation: explanation.join(" ") };
    };
    assert.deepEqual(assess({}, 31), {
      failing: true,
      since: null,
      explanation: "No retained delivery has arrived. 1 delivery is undelivered and will not be retried.",
    });
    const later = [...deliveries, createDelivery(2, [40 * day], { next_attempt_at: formatIsoTime(40 * day + 5) })];
    assert.equal(assess({ failure_count: 1 }, 40, later).since, "2031-02-11");
    // The failures that disabled a webhook have no success after them.
    const disabled = { status: "DISABLED_BY_ERROR", failure_count: 6 } as const;
    assert.equal(assess(disabled, 31).since, "2031-01-02");
  });

  it("suggests allowing a forbidden host instead of a resend", () => {
    const forbidden =
      "Host receiver.invalid is not allowed for webhooks. Restart the emulator with --webhook-allow receiver.invalid.";
    const passedOver = [createDelivery(1, [], { outcome: "skipped_not_allowed" })];
    assert.deepEqual(summarizeHealth(createWebhook({ url: "https://receiver.invalid/x", forbidden }), passedOver), {
      state: "address not allowed",
      failing: true,
      explanation: `Deliveries are blocked: ${forbidden} 1 delivery is undelivered and will not be retried.`,
      steps: [
        "Stop the emulator: svc emulator stop",
        "Start it again with its other flags and this host: svc emulator start --detach --webhook-allow receiver.invalid",
      ],
      unsent: [1],
    });
  });

  it("names the active fault instead of the receiver and explains how to remove the fault", () => {
    const droppedDelivery = changeAttempts(createDelivery(1, [0], { next_attempt_at: formatIsoTime(5) }), {
      status: null,
      error: { code: "dropped", message: "A scripted fault prevented this attempt." },
      fault: { effect: "drop", by: "request:3" },
    });
    const failing = createWebhook({ failure_count: 1 });
    assert.deepEqual(
      summarizeHealth(
        failing,
        [droppedDelivery],
        [createFault("drop", { id: 7 }), createFault("delay", { webhook: 2 })],
      ),
      {
        state: "failing",
        failing: true,
        explanation:
          "Failing since 03:04:05, first with CONTRACT_CREATED T-1: dropped (fault: drop). Last attempt: a scripted fault prevented the request (drop). Scripted fault 7 affects its deliveries: drop, once so far. 1 attempt failed. The sixth consecutive failure disables the webhook.",
        steps: ["Remove scripted fault 7 (drop): svc emulator fault remove 7"],
        unsent: [],
      },
    );
    assert.deepEqual(
      [
        summarizeHealth(failing, [droppedDelivery]).steps,
        summarizeHealth(
          failing,
          [droppedDelivery],
          [{ count: 3 }, { path: "/other" }, { activity: "CONTRACT_SIGNED" as const }].map((one) =>
            createFault("drop", one),
          ),
        ).steps,
        summarizeHealth(failing, [droppedDelivery], [createFault("drop", { path: "/ho*" })]).steps,
        summarizeHealth(failing, [droppedDelivery], [createFault("tamper")]).steps,
      ],
      [
        ["The scripted fault that caused this is no longer active."],
        ["The scripted fault that caused this is no longer active."],
        ["Remove scripted fault 1 (drop): svc emulator fault remove 1"],
        [
          "The scripted fault that caused this is no longer active.",
          "Remove scripted fault 1 (tamper): svc emulator fault remove 1",
        ],
      ],
    );
  });

  it("names the receiver before a scripted fault that has not affected a delivery", () => {
    const failing = createWebhook({ failure_count: 1 });
    const { explanation: messages, steps } = summarizeHealth(
      failing,
      [createDelivery(1, [0], { next_attempt_at: formatIsoTime(5) })],
      [createFault("tamper", { matched: 0, hit: 0 })],
    );
    assert.deepEqual(
      { explanation: messages, steps },
      {
        explanation:
          "Failing since 03:04:05, first with CONTRACT_CREATED T-1: responded 503. Last attempt: the receiver responded 503. Scripted fault 1 (tamper) has not affected its deliveries yet. 1 attempt failed. The sixth consecutive failure disables the webhook.",
        steps: [
          "Check the log of the receiver or its proxy.",
          "Remove scripted fault 1 (tamper): svc emulator fault remove 1",
        ],
      },
    );
  });

  it("reports the delivery outcomes of a deleted webhook", () => {
    const { state, failing, explanation, steps } = assessDeletedWebhook(
      [
        createDelivery(1, [0], { outcome: "delivered" }),
        createDelivery(2, [1], { webhook_status: "DELETED", next_attempt_at: formatIsoTime(5) }),
      ],
      formatTime,
    );
    assert.deepEqual(
      [state.words, failing, explanation, steps],
      [
        "deleted",
        true,
        [
          "Failing since 03:05:05, first with CONTRACT_CREATED T-1: responded 503.",
          "Last attempt: the receiver responded 503.",
          "The webhook was deleted. Of 2 retained deliveries, 1 arrived; 1 did not, and cannot be sent again.",
        ],
        [],
      ],
    );
    const unread = assessDeletedWebhook([createDelivery(1, [0], { outcome: "delivered" })], formatTime);
    assert.deepEqual(
      [unread.failing, unread.explanation],
      [false, ["The webhook was deleted. Of 1 retained delivery, 1 arrived."]],
    );
  });
});

describe("common feature of failed deliveries", () => {
  const failed = (id: number, minutes: readonly number[], overrides: Partial<Delivery> = {}) =>
    createDelivery(id, minutes, { activity: "CONTRACT_EXECUTED", outcome: "failed", ...overrides });
  const createArrived = (id: number, minute: number, overrides: Partial<Delivery> = {}) =>
    createDelivery(id, [minute], { activity: "CONTRACT_SIGNED", outcome: "delivered", ...overrides });
  const summarizeFailing = (...deliveries: Delivery[]) => {
    const { failurePattern, failing, since, state } = assessWebhook(createWebhook(), {
      deliveries,
      faults: [],
      formatTime,
    });
    return [failurePattern, failing, since && formatTime(since), state.words];
  };

  it("finds the only activity that fails", () => {
    const both = [failed(1, [0, 5]), createArrived(2, 6), failed(3, [10, 15])];
    const found = ["Only CONTRACT_EXECUTED fails. Other deliveries arrive.", true, "03:04:05", "failing"];
    assert.deepEqual([summarizeFailing(...both), summarizeFailing(...both, createArrived(4, 20))], [found, found]);
    const { explanation, steps } = assessWebhook(createWebhook({ failure_count: 2 }), {
      deliveries: both,
      faults: [],
      formatTime,
    });
    assert.deepEqual(
      [explanation, steps.map(({ words }) => words)],
      [
        [
          "Failing since 03:04:05, first with CONTRACT_EXECUTED T-1: responded 503.",
          "Last attempt: the receiver responded 503.",
          "Only CONTRACT_EXECUTED fails. Other deliveries arrive.",
          "2 deliveries are undelivered and will not be retried.",
        ],
        ["Check the log of the receiver or its proxy.", "Resend 2 undelivered deliveries, oldest first"],
      ],
    );
  });

  it("finds the only contract that fails, and imported contracts", () => {
    const signed = { activity: "CONTRACT_SIGNED" } as const;
    assert.deepEqual(
      [
        summarizeFailing(failed(1, [0], signed), createArrived(2, 1, { composite_id: "T-2" }), failed(3, [5], signed)),
        summarizeFailing(
          failed(1, [0], { ...signed, composite_id: "H-1" }),
          createArrived(2, 1, { composite_id: "T-2" }),
          failed(3, [5], { ...signed, composite_id: "H-2" }),
        ),
      ],
      [
        ["Only deliveries for T-1 fail. Other deliveries arrive.", true, "03:04:05", "failing"],
        ["Only deliveries for imported contracts (H-…) fail. Other deliveries arrive.", true, "03:04:05", "failing"],
      ],
    );
  });

  it("finds the only delivery that fails", () =>
    assert.deepEqual(
      summarizeFailing(
        failed(1, [0, 5], { outcome: "retrying", next_attempt_at: formatIsoTime(15) }),
        createArrived(2, 3),
      ),
      ["Only delivery:1 (CONTRACT_EXECUTED T-1) fails. Other deliveries arrive.", true, "03:04:05", "failing"],
    ));

  it("finds no common feature if no other delivery succeeded or the latest failures differ", () => {
    assert.deepEqual(summarizeFailing(createArrived(1, 0), failed(2, [5]), failed(3, [10])), [
      null,
      true,
      "03:09:05",
      "enabled again",
    ]);
    assert.deepEqual(summarizeFailing(failed(1, [0]), failed(2, [5]), createArrived(3, 10)), [
      null,
      false,
      null,
      "active",
    ]);
    const mixedDeliveries = [
      failed(1, [0]),
      createArrived(2, 1),
      failed(3, [5]),
      failed(4, [6], { activity: "CONTRACT_SIGNED" }),
    ];
    assert.deepEqual(summarizeFailing(...mixedDeliveries), [null, true, "03:09:05", "enabled again"]);
  });
});

describe("explanation of missing deliveries", () => {
  const group = (workspace_id: number, activity: "CONTRACT_CREATED" | "CONTRACT_SIGNED", minutes = 0) => ({
    workspace_id,
    workspace: workspace_id === 1 ? "Northwind" : "Contoso",
    activity,
    count: 1,
    first_at: formatIsoTime(minutes),
    last_at: formatIsoTime(minutes),
  });
  const contoso = createWebhook({ workspace_id: 2, workspace: "Contoso" });

  it("names the activities that happened instead, with workspace and time", () =>
    assert.deepEqual(
      [
        explainNoDeliveries(contoso, undefined, { formatTime }),
        explainNoDeliveries(contoso, [], { formatTime }),
        explainNoDeliveries(contoso, [group(1, "CONTRACT_CREATED")], { formatTime }),
        explainNoDeliveries(contoso, [group(2, "CONTRACT_CREATED")], { formatTime }),
        explainNoDeliveries(contoso, [group(2, "CONTRACT_CREATED", 5)], { formatTime }),
        explainNoDeliveries(contoso, [group(2, "CONTRACT_SIGNED"), group(1, "CONTRACT_SIGNED")], { formatTime }),
        explainNoDeliveries(contoso, [], { formatTime, now: Date.parse(contoso.created_at) + 30 * 86_400_000 }),
        explainNoDeliveries(contoso, [], { formatTime, now: Date.parse(contoso.created_at) + 30 * 86_400_000 + 1 }),
      ],
      [
        "No deliveries yet. Subscribed to CONTRACT_CREATED.",
        "No deliveries yet. Subscribed to CONTRACT_CREATED, and none has happened.",
        "No deliveries yet. Subscribed to CONTRACT_CREATED, but 1 CONTRACT_CREATED happened in workspace 1 (Northwind); this webhook belongs to workspace 2 (Contoso).",
        "No deliveries yet. Subscribed to CONTRACT_CREATED, but 1 CONTRACT_CREATED happened before it was created, the last at 03:04:05.",
        "No deliveries yet. Subscribed to CONTRACT_CREATED, but the deliveries of 1 CONTRACT_CREATED are no longer retained.",
        "No deliveries yet. Subscribed to CONTRACT_CREATED, but in its workspace 2 (Contoso), only 1 CONTRACT_SIGNED happened.",
        "No deliveries yet. Subscribed to CONTRACT_CREATED, and none has happened.",
        "No deliveries in the last 30 days (the retention period). Subscribed to CONTRACT_CREATED, and none happened in that time.",
      ],
    ));
});
