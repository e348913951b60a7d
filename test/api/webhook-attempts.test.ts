import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type Attempt,
  describeAlteredAttempts,
  describeAttemptOutcome,
  formatAttemptLabel,
} from "../../src/api/webhook-health/attempts.ts";
import { diagnoseFailedAttempt } from "../../src/api/webhook-health/causes.ts";
import { specifiedRetrySchedule } from "../../src/api/webhook-retries.ts";
import { createDelivery } from "../console/webhook-records.ts";

describe("webhook attempt diagnosis", () => {
  const attempt = (change: Partial<Attempt>): Attempt => ({ ...createDelivery(1, [0]).attempts[0]!, ...change });

  it("explains the failure of each response status", () =>
    assert.deepEqual(
      [401, 404, 405, 429, 410, 302, 304, 500, 422].map(
        (status) => diagnoseFailedAttempt(attempt({ status }), specifiedRetrySchedule).meaning,
      ),
      [
        "Last attempt: the receiver responded 401.",
        "Last attempt: 404 Not Found.",
        "Last attempt: 405 Method Not Allowed.",
        "Last attempt: 429 Too Many Requests. Retry-After is ignored: the retry schedule is fixed (5, 10, 20, 40, 80 and 160 minutes).",
        "Last attempt: 410 Gone. It is retried like any other failure.",
        "Last attempt: the receiver responded 302. Redirects are not followed.",
        "Last attempt: the receiver responded 304.",
        "Last attempt: the receiver responded 500.",
        "Last attempt: the receiver responded 422.",
      ],
    ));

  it("suggests starting the receiver after a refused connection", () => {
    const error = { code: "connection_refused", message: "Refused." };
    const steps = [{ kind: "fix", words: "Start the receiver." }];
    const cause = diagnoseFailedAttempt(attempt({ status: null, error }));
    assert.deepEqual(cause, { meaning: "Last attempt: connection refused.", steps });
  });

  it("suggests only what the response calls for", () => {
    const suggest = (status: number) => diagnoseFailedAttempt(attempt({ status })).steps[0]?.words;
    assert.equal(suggest(429), "Raise the rate limit of the receiver.");
    assert.equal(suggest(500), "Check the log of the receiver or its proxy.");
    assert.equal(suggest(304), "Fix the receiver.");
    assert.equal(suggest(302), "Respond without a redirect, or send to its target (--forward-to, or another webhook).");
  });

  it("suggests a signature check for a 401 unless a fault caused the response", () => {
    const list = (change: object) => diagnoseFailedAttempt(attempt(change)).steps.map(({ command }) => command);
    assert.deepEqual(
      [list({ status: 401 }), list({ status: 401, fault: { effect: "wrong_key", by: null } })],
      [["svc webhooks explain body.json --headers headers.txt", "svc emulator workspaces --json=id,name,hmac_key"], []],
    );
    const outcome = describeAttemptOutcome(attempt({ status: 401, fault: { effect: "tamper", by: null } }));
    assert.equal(outcome, "The receiver responded 401; a scripted fault changed the body after signing (tamper).");
  });

  it("counts scheduled attempts and resends separately", () => {
    const all = [false, true, false, true].map((resend, i) => attempt({ number: i + 1, resend }));
    assert.deepEqual(
      all.map((one) => formatAttemptLabel(one, { attempts: all, max_attempts: 7 })),
      ["attempt 1 of 7", "resend 1", "attempt 2 of 7", "resend 2"],
    );
    const faults = [{ effect: "tamper", by: null }, null, { effect: "delay", by: null }, { effect: "drop", by: null }];
    const attempts = all.map((one, i) => ({ ...one, fault: faults[i]! }));
    assert.deepEqual(describeAlteredAttempts({ attempts, max_attempts: 7 }), [
      "Resend 2: a scripted fault prevented the request: the receiver got nothing.",
      "Attempt 1 of 7: a scripted fault changed the body after signing: the receiver got other bytes, which do not match the signature.",
    ]);
  });
});
