import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type Attempt,
  type Delivery,
  sentOtherwise,
  troubleOf,
  turnName,
} from "../../src/api/webhook-health/attempts.ts";
import { causeOf } from "../../src/api/webhook-health/causes.ts";
import type { Fault } from "../../src/api/webhook-health/faults.ts";
import { deletedHealth, type Webhook, webhookHealth } from "../../src/api/webhook-health/health.ts";
import { nothingSent } from "../../src/api/webhook-health/nothing-sent.ts";
import { deliveryStanding } from "../../src/api/webhook-health/standing.ts";
import { delivery, iso, webhook } from "../console/webhook-records.ts";

const sixTimes = [0, 5, 15, 35, 75, 155];
const at = (time: string) => time.slice(11, 19);

const tell = (one: Webhook, deliveries: readonly Delivery[], faults: readonly Fault[] = []) => {
  const { state, failing, trouble, why, steps, unsent } = webhookHealth(one, { deliveries, faults, at });
  return {
    state: state.words,
    failing,
    told: [trouble, ...why].filter((sentence) => sentence !== null).join(" "),
    steps: steps.map(({ words, command }) => (command === undefined ? words : `${words}: ${command}`)),
    unsent: unsent.map(({ id }) => id),
  };
};

const fault = (effect: Fault["effect"], more: Partial<Fault> = {}): Fault => ({
  id: 1,
  direction: "outgoing",
  effect,
  nth: 1,
  chance: 1,
  seed: 1,
  matched: 3,
  hit: 3,
  ...more,
});

const changed = (one: Delivery, change: Partial<Attempt>): Delivery => ({
  ...one,
  attempts: one.attempts.map((attempt) => ({ ...attempt, ...change })),
});

describe("what is told of a webhook", () => {
  it("is what keeps it from arriving, what that means, and what to do in which order", () => {
    const disabled = webhook({
      status: "DISABLED_BY_ERROR",
      failure_count: 6,
      disabled_at: iso(155),
      disabled_by: "attempt:2.6",
    });
    const lost = [
      delivery(2, sixTimes, { outcome: "skipped_disabled" }),
      delivery(1, sixTimes, { next_attempt_at: iso(315) }),
    ];
    assert.deepEqual(tell(disabled, lost), {
      state: "disabled",
      failing: true,
      told: "The receiver answered 503. 6 attempts in a row failed, so it is disabled and what comes due is skipped: at 05:39:05, by attempt:2.6. 2 deliveries have not arrived: 1 is tried again if it is enabled in time, the others are not.",
      steps: [
        "Mend the receiver: its own log says why it failed.",
        "To enable it again, once the receiver is repaired: svc emulator webhooks enable 1",
        "To send the 2 that did not arrive, oldest first: svc emulator webhooks resend 1",
      ],
      unsent: [1, 2],
    });
    assert.match(
      tell(disabled, lost.slice(1)).told,
      / 1 delivery has not arrived and is tried again only if it is enabled in time\.$/,
    );
    // One that was sent again has arrived since.
    assert.match(tell({ ...disabled, failure_count: 0 }, lost).told, / 6 attempts in a row failed, so it is disabled /);
  });

  it("is no good news where it was enabled again and nothing has arrived since", () => {
    assert.deepEqual(tell(webhook(), [delivery(1, sixTimes, { next_attempt_at: iso(315) })]), {
      state: "enabled again",
      failing: true,
      told: "The receiver answered 503. It was enabled again, and nothing has arrived since.",
      steps: ["Mend the receiver: its own log says why it failed."],
      unsent: [],
    });
    const works = [delivery(2, [200], { outcome: "delivered" }), delivery(1, sixTimes, { outcome: "failed" })];
    assert.equal(tell(webhook(), works).told, "It works now. 1 delivery has not arrived and is not tried again.");
  });

  it("advises no resend to an address that is not allowed, and blames nobody else", () => {
    const url = "https://receiver.invalid/x";
    const forbidden =
      "receiver.invalid is not allowed; an emulator that is started with --webhook-allow receiver.invalid may.";
    const passedOver = [delivery(1, [], { outcome: "skipped_not_allowed" })];
    assert.deepEqual(tell(webhook({ url, forbidden }), passedOver), {
      state: "address not allowed",
      failing: true,
      told: `Nothing is ever sent to it: ${forbidden} 1 delivery has not arrived and is not tried again.`,
      steps: [
        "Stop the emulator, and start it anew with its host allowed, beside the flags that it had: svc emulator start --webhook-allow receiver.invalid",
      ],
      unsent: [1],
    });
  });

  it("names the fault that acts on it in place of the receiver, and what ends that", () => {
    const dropped = changed(delivery(1, [0], { next_attempt_at: iso(5) }), {
      status: null,
      error: { code: "dropped", message: "A scripted fault kept this attempt from being sent." },
      fault: { effect: "drop", by: "request:3" },
    });
    const failing = webhook({ failure_count: 1 });
    assert.deepEqual(tell(failing, [dropped], [fault("drop", { id: 7 }), fault("delay", { webhook: 2 })]), {
      state: "failing",
      failing: true,
      told: "A scripted fault kept it from being sent (drop). Scripted fault 7 acts on what is sent to it: drop, 3 times until now. 1 attempt failed; the sixth disables it.",
      steps: ["To end the scripted fault 7 (drop): svc emulator fault remove 7"],
      unsent: [],
    });
    assert.deepEqual(
      [
        tell(failing, [dropped]).steps,
        tell(failing, [dropped], [fault("drop", { count: 3 }), fault("drop", { path: "/other" })]).steps,
        tell(failing, [dropped], [fault("drop", { path: "/ho*" })]).steps,
      ],
      [
        ["The fault that did it acts no more."],
        ["The fault that did it acts no more."],
        ["To end the scripted fault 1 (drop): svc emulator fault remove 1"],
      ],
    );
  });

  it("of one that was deleted is what its deliveries came to", () => {
    const { state, failing, why, steps } = deletedHealth([
      delivery(1, [0], { outcome: "delivered" }),
      delivery(2, [0], { webhook_status: "DELETED", next_attempt_at: iso(5) }),
    ]);
    assert.deepEqual(
      [state.words, failing, why, steps],
      [
        "deleted",
        true,
        ["It was deleted. Of 2 deliveries that are kept 1 arrived, and 1 did not and cannot be sent again."],
        [],
      ],
    );
    const whole = deletedHealth([delivery(1, [0], { outcome: "delivered" })]);
    assert.deepEqual([whole.failing, whole.why], [false, ["It was deleted. Of 1 delivery that is kept 1 arrived."]]);
  });
});

describe("why nothing was sent to a webhook", () => {
  const group = (workspace_id: number, activity: "CONTRACT_CREATED" | "CONTRACT_SIGNED", minutes = 0) => ({
    workspace_id,
    workspace: workspace_id === 1 ? "Northwind" : "Contoso",
    activity,
    count: 1,
    first_at: iso(minutes),
    last_at: iso(minutes),
  });
  const contoso = webhook({ workspace_id: 2, workspace: "Contoso" });

  it("is that what it wants did not happen, or where, when and what happened instead", () =>
    assert.deepEqual(
      [
        nothingSent(contoso, undefined, { at }),
        nothingSent(contoso, [], { at }),
        nothingSent(contoso, [group(1, "CONTRACT_CREATED")], { at }),
        nothingSent(contoso, [group(2, "CONTRACT_CREATED")], { at }),
        nothingSent(contoso, [group(2, "CONTRACT_CREATED", 5)], { at }),
        nothingSent(contoso, [group(2, "CONTRACT_SIGNED"), group(1, "CONTRACT_SIGNED")], { at }),
        nothingSent(contoso, [], { at, now: Date.parse(contoso.created_at) + 30 * 86_400_000 }),
        nothingSent(contoso, [], { at, now: Date.parse(contoso.created_at) + 30 * 86_400_000 + 1 }),
      ],
      [
        "Nothing was sent yet: it wants CONTRACT_CREATED.",
        "Nothing was sent yet: it wants CONTRACT_CREATED, and none has happened.",
        "Nothing was sent yet: it wants CONTRACT_CREATED, and 1 CONTRACT_CREATED happened, in workspace 1 (Northwind); this webhook belongs to workspace 2 (Contoso).",
        "Nothing was sent yet: it wants CONTRACT_CREATED, and 1 CONTRACT_CREATED happened before it was created, the last at 03:04:05.",
        "Nothing was sent yet: it wants CONTRACT_CREATED, and what came of 1 CONTRACT_CREATED is not kept any more.",
        "Nothing was sent yet: it wants CONTRACT_CREATED, and what happened in its workspace 2 (Contoso) is 1 CONTRACT_SIGNED, which it does not want.",
        "Nothing was sent yet: it wants CONTRACT_CREATED, and none has happened.",
        "Nothing was sent in the 30 days for which deliveries are kept: it wants CONTRACT_CREATED, and none that is kept has happened.",
      ],
    ));
});

describe("an attempt", () => {
  const attempt = (change: Partial<Attempt>): Attempt => ({ ...delivery(1, [0]).attempts[0]!, ...change });

  it("that failed says what that meant, and what to do, unless a fault did it", () =>
    assert.deepEqual(
      [401, 404, 405, 429, 410, 302, 500, 422].map((status) => causeOf(attempt({ status })).means),
      [
        "It refused at the last attempt who sends: its check of the signature, or of a header, did not hold.",
        "Nothing was at that path at the last attempt.",
        "It took no POST there at the last attempt.",
        "It was asked too much at the last attempt. Its Retry-After is not heeded: the schedule is fixed, each retry 5, 10, 20, 40, 80 and 160 minutes after the one before.",
        "It said at the last attempt that nothing is there any more; that counts as any other failure, and it is tried again.",
        "Redirects are not followed.",
        undefined,
        undefined,
      ],
    ));

  it("that found nobody says so of that time alone, for somebody may listen by now", () =>
    assert.deepEqual(causeOf(attempt({ status: null, error: { code: "connection_refused", message: "Refused." } })), {
      means: "Nobody listened there at the last attempt.",
      steps: [{ kind: "mend", words: "Start the receiver, unless it runs by now." }],
    }));

  it("that is refused leads to what explains signatures, and to the fault where one signed it wrongly", () => {
    const commands = (change: Partial<Attempt>) => causeOf(attempt(change)).steps.map(({ command }) => command);
    assert.deepEqual(
      [commands({ status: 401 }), commands({ status: 401, fault: { effect: "wrong_key", by: null } })],
      [
        ["svc webhooks explain body.json --headers headers.txt", "svc webhooks verify body.json --headers headers.txt"],
        [],
      ],
    );
    assert.equal(
      troubleOf(attempt({ status: 401, fault: { effect: "tamper", by: null } })),
      "The receiver answered 401; a scripted fault had changed the body after it was signed (tamper).",
    );
  });

  it("is counted among those of the schedule, or among those that somebody asked for", () => {
    const all = [false, true, false, true].map((resend, i) => attempt({ number: i + 1, resend }));
    assert.deepEqual(
      all.map((one) => turnName(one, all)),
      ["attempt 1 of 7", "resend 1", "attempt 2 of 7", "resend 2"],
    );
    const faults = [{ effect: "tamper", by: null }, null, { effect: "delay", by: null }, { effect: "drop", by: null }];
    assert.deepEqual(sentOtherwise(all.map((one, i) => ({ ...one, fault: faults[i]! }))), [
      "Resend 2: a scripted fault kept it from being sent: the receiver got nothing.",
      "Attempt 1 of 7: a scripted fault changed the body after it was signed: the receiver got other bytes than these, which the signature does not fit.",
    ]);
  });
});

describe("how a delivery stands", () => {
  it("is what will come of it", () =>
    assert.deepEqual(
      [
        deliveryStanding({ outcome: "retrying", next_attempt_at: 1, webhook_status: "ACTIVE" }, 1),
        deliveryStanding({ outcome: "retrying", next_attempt_at: 1, webhook_status: "DELETED" }, 1),
        deliveryStanding({ outcome: "skipped_not_allowed", next_attempt_at: null, webhook_status: "ACTIVE" }, 0),
        deliveryStanding({ outcome: "skipped_not_allowed", next_attempt_at: null, webhook_status: "ACTIVE" }, 1),
      ],
      ["retrying", "will be skipped", "not sent: address not allowed", "skipped: address was not allowed"],
    ));
});
