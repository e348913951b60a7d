import type { WallClock } from "../../src/base/clock.ts";
import type { WebhookJsonForm } from "../../src/base/json.ts";
import { writeTraceparent } from "../../src/base/trace-context.ts";
import { deriveSpanId } from "../../src/base/trace-ids.ts";
import { contentHash, contentHashHeader } from "../../src/schemes/webhook.ts";
import { findWebhookScheme } from "../../src/schemes/webhook-schemes.ts";
import type { VirtualClock } from "../clock/virtual-clock.ts";
import type { OutgoingMessage, SendAttempt } from "../faults/faults.ts";
import type { PostResult, WebhookSender } from "../http/outgoing/webhook-sender.ts";
import type { Settings } from "../world/settings.ts";
import { attemptName, bodyOf, type Delivery, type WebhookEvent, webhookObserver } from "./deliveries.ts";
import type { Subscription } from "./subscriptions.ts";

/** All that one attempt needs, read in one view. */
export interface AttemptInput {
  readonly delivery: Delivery;
  /** Number of the attempt, from 1. */
  readonly number: number;
  readonly resend: boolean;
  readonly event: WebhookEvent;
  readonly subscription: Subscription;
  /** Base64, of the workspace. */
  readonly hmacKey: string;
  /** Its W3C trace, if it is sent to receivers. */
  readonly trace?: string | undefined;
}

export interface AttemptContext {
  readonly clock: Pick<VirtualClock, "now" | "movedBy">;
  readonly wall: WallClock;
  readonly settings: Settings;
  readonly outgoing: WebhookSender;
}

/** Result of one attempt: times virtual, `wallAt` and `durationMs` by the wall clock. */
export interface AttemptResult {
  readonly url: string;
  readonly at: number;
  /** On the wall. */
  readonly wallAt: number;
  /** Id of the clock advance by which it came due; undefined: the clock was not advanced. */
  readonly movedBy: string | undefined;
  readonly durationMs: number;
  readonly posted: PostResult;
}

/** The way to send the bytes of an event, signed; once, unless `otherwise` sends. Rejects only with DeliveryAbortedError. */
export function createAttemptSender(
  sender: AttemptContext,
): (sendable: AttemptInput, otherwise?: SendAttempt) => Promise<AttemptResult> {
  const { clock, wall, settings, outgoing } = sender;
  const signed = new SignedEvents(settings.webhookJson);
  const further = settings.webhookSchemes.map(findWebhookScheme);

  return (sendable, otherwise) => {
    const { subscription, event, delivery, number, hmacKey, trace } = sendable;
    const at = clock.now();
    const movedBy = clock.movedBy?.id;
    const wallAt = Math.floor(wall.now());
    const begun = wall.monotonicNow();
    const message = signed.of(event, hmacKey);
    const send = (given: OutgoingMessage) =>
      outgoing.post({
        url: subscription.url,
        headers: event.headers ?? {
          ...(webhookObserver(clock)?.webhookHeaders(event.activity, plainHeaders(subscription)) ??
            plainHeaders(subscription)),
          [contentHashHeader]: given === message ? message.hash : contentHash(given.hmacKey, given.body),
          // Receivers compare times with their own clock, under --deterministic, too (DECISIONS.md, C17).
          ...Object.assign(
            {},
            ...further.map(({ sign }) => sign({ key: given.hmacKey, body: given.body, id: delivery.id, at: wallAt })),
          ),
          ...(trace !== undefined && traceHeaders(trace, attemptName(delivery.id, number))),
        },
        body: given.sent ?? given.body,
      });
    const sent = otherwise ? otherwise(message, send) : send(message);
    return sent.then((posted) => ({
      url: subscription.url,
      at,
      wallAt: settings.deterministic ? at : wallAt,
      movedBy,
      // A duration differs from run to run, and deterministic means the same bytes.
      durationMs: settings.deterministic ? 0 : Math.round(wall.monotonicNow() - begun),
      posted,
    }));
  };
}

const plainHeaders = ({ custom_headers }: Subscription): Record<string, string> => ({
  ...custom_headers,
  "content-type": "application/json",
});

interface SignedMessage extends OutgoingMessage {
  readonly text: string;
  readonly hash: string;
}

const eventsKept = 256;

/** An event for a thousand webhooks, six times each, is signed once. */
class SignedEvents {
  readonly #kept = new Map<number, SignedMessage>();
  readonly #form: WebhookJsonForm;

  constructor(form: WebhookJsonForm) {
    this.#form = form;
  }

  of(event: WebhookEvent, hmacKey: string): SignedMessage {
    const { id, body: text } = event;
    const known = this.#kept.get(id);
    // After a reset an id may mean another event.
    if (known?.text === text && known.hmacKey === hmacKey) return known;
    const body = Buffer.from(bodyOf(event, this.#form));
    const fresh = { text, body, hmacKey, hash: contentHash(hmacKey, body) };
    const [oldest] = this.#kept.keys();
    // Not all of them: events that are still being delivered would be signed again, one after the other.
    if (oldest !== undefined && this.#kept.size >= eventsKept) this.#kept.delete(oldest);
    this.#kept.set(id, fresh);
    return fresh;
  }
}

/** The receiver's own spans are children of the attempt. */
const traceHeaders = (trace: string, attempt: string) => ({
  traceparent: writeTraceparent({ trace, span: deriveSpanId(trace, attempt) }),
});

/** 2xx alone is success; a redirect is not (DECISIONS.md, C18). */
export const isSuccess = (posted: PostResult): boolean =>
  "status" in posted && posted.status >= 200 && posted.status < 300;
