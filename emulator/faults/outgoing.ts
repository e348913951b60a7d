import { createHash } from "node:crypto";
import type { FaultRule, OutgoingEffect } from "../../src/api/emulator/faults.ts";
import { parseDuration } from "../../src/base/duration.ts";
import { matchesPathPattern } from "../../src/base/path-pattern.ts";
import type { FaultInterceptor, Faults, PendingAttempt, SendAttempt } from "./faults.ts";

/** The faults for webhooks that go out. */
export function outgoingFaults(faults: Faults): FaultInterceptor {
  return (about) => {
    if (faults.idle) return undefined;
    const attempt = `${about.delivery.id}/${about.number}`;
    if (faults.putOff.delete(attempt)) return undefined;
    const met = faults.recordMatch((rule) => rule.direction === "outgoing" && matches(rule, about));
    if (!met?.rule.effect) return undefined;
    const { effect, delay = "PT1M" } = met.rule;
    const { cause } = met;
    if (effect !== "delay" && effect !== "reorder") return { effect, cause, send: ways[effect](met.id) };
    faults.putOff.add(attempt);
    return { effect, cause, putOff: { byMs: parseDuration(delay)!, behindNext: effect === "reorder" } };
  };
}

function matches(rule: FaultRule, { subscription, event, number, resend }: PendingAttempt): boolean {
  // Whoever asks for a resend waits for its answer.
  if (resend && (rule.effect === "delay" || rule.effect === "reorder")) return false;
  return (
    (rule.webhook === undefined || rule.webhook === subscription.id) &&
    (rule.activity === undefined || rule.activity === event.activity) &&
    (rule.contract === undefined || rule.contract === event.contract_id) &&
    (rule.attempt === undefined || rule.attempt === number) &&
    (rule.path === undefined || matchesPathPattern(new URL(subscription.url).pathname, rule.path))
  );
}

/** What a sender does in the place of sending once. */
const ways: Readonly<Record<Exclude<OutgoingEffect, "delay" | "reorder">, (faultId: number) => SendAttempt>> = {
  duplicate: () => async (message, send) => {
    await send(message);
    return send(message);
  },
  drop: () => async () => ({
    error: { code: "dropped", message: "A scripted fault prevented this attempt." },
  }),
  tamper: () => (message, send) => send({ ...message, sent: tampered(message.body) }),
  wrong_key: (id) => (message, send) => send({ ...message, hmacKey: wrongKey(id) }),
};

/** Still JSON that a careless receiver takes: only the signature tells. */
const tampered = (body: Uint8Array): Uint8Array =>
  Buffer.from(Buffer.from(body).toString("utf8").replace("{", '{"tampered":true,'));

const wrongKey = (faultId: number): string => createHash("sha512").update(`wrong key ${faultId}`).digest("base64");
