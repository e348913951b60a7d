import type { WallClock } from "../../src/base/clock.ts";
import type { WebhookJsonForm } from "../../src/base/json.ts";
import { type TraceContext, writeTraceparent } from "../../src/base/otel.ts";
import {
  findScheme,
  getDefaultScheme,
  type WebhookMessage,
  type WebhookScheme,
} from "../../src/schemes/webhook-schemes.ts";
import type { VirtualClock } from "../clock/virtual-clock.ts";
import type { EmulatorSettings } from "../domain/settings.ts";
import type { OutgoingMessage, SendAttempt } from "../faults/faults.ts";
import type { PostResult, WebhookSender } from "../http/outgoing/webhook-sender.ts";
import {
  type Delivery,
  formatEventBody,
  getWebhookObserver,
  type WebhookEvent,
  type WebhookObserver,
} from "./deliveries.ts";
import type { Webhook } from "./webhooks.ts";

/** Data of one attempt, read in a single view. */
interface AttemptInput {
  readonly delivery: Delivery;
  /** Number among the scheduled attempts, from 1. Null for a resend. */
  readonly scheduledNumber: number | null;
  readonly event: WebhookEvent;
  readonly webhook: Webhook;
  /** Key of the workspace in base64. */
  readonly hmacKey: string;
  /** Span of the attempt. Undefined if receivers do not get the trace. */
  readonly traceContext?: TraceContext | undefined;
}

export interface AttemptContext {
  readonly clock: Pick<VirtualClock, "now" | "movedBy">;
  readonly wall: WallClock;
  readonly settings: EmulatorSettings;
  readonly outgoing: WebhookSender;
}

/** Result of one attempt. Times are virtual. `wallAt` and `durationMs` are in wall-clock milliseconds. */
export interface AttemptResult {
  readonly url: string;
  readonly at: number;
  readonly wallAt: number;
  /** ID of the clock advance that made it due. Undefined if the clock was not advanced. */
  readonly movedBy: string | undefined;
  readonly durationMs: number;
  readonly postResult: PostResult;
}

/** `sendWithFault` can replace sending. The function rejects only with DeliveryAbortedError. */
export function createAttemptSender(
  context: AttemptContext,
): (input: AttemptInput, sendWithFault?: SendAttempt) => Promise<AttemptResult> {
  const { clock, wall, settings, outgoing } = context;
  const schemes = [getDefaultScheme(), ...settings.webhookSchemes.map(findScheme)];
  const bodySchemes = schemes.filter(signsBodyOnly);
  const attemptSchemes = schemes.filter((scheme) => !signsBodyOnly(scheme));
  const signEvent = createEventSigner(settings.webhookJson, bodySchemes);

  return (input, sendWithFault) => {
    const { webhook, event, delivery, hmacKey, traceContext } = input;
    const at = clock.now();
    const movedBy = clock.movedBy?.id;
    const wallAt = Math.floor(wall.now());
    const startedAt = wall.monotonicNow();
    const message = signEvent(event, hmacKey);
    const send = (outgoingMessage: OutgoingMessage) => {
      // Receivers compare the time with their own clock, even under --deterministic (DECISIONS.md, C17).
      const signable = { key: outgoingMessage.hmacKey, body: outgoingMessage.body, id: delivery.id, at: wallAt };
      return outgoing.post({
        url: webhook.url,
        headers:
          event.headers ??
          // Spreads take ten times as long in Node 20.
          Object.assign(
            createPlainHeaders(webhook, event, getWebhookObserver(clock)),
            outgoingMessage === message ? message.signatures : signWith(bodySchemes, signable),
            signWith(attemptSchemes, signable),
            // The receiver's own spans are children of the attempt.
            traceContext === undefined ? undefined : { traceparent: writeTraceparent(traceContext) },
          ),
        body: outgoingMessage.sentBody ?? outgoingMessage.body,
      });
    };
    const response = sendWithFault ? sendWithFault(message, send) : send(message);
    return response.then((postResult) => ({
      url: webhook.url,
      at,
      wallAt: settings.deterministic ? at : wallAt,
      movedBy,
      // Durations differ between runs, but --deterministic requires the same bytes.
      durationMs: settings.deterministic ? 0 : Math.round(wall.monotonicNow() - startedAt),
      postResult,
    }));
  };
}

/** Creates the headers without the signature. */
function createPlainHeaders(
  { custom_headers }: Webhook,
  { activity }: WebhookEvent,
  observer: WebhookObserver | undefined,
): Record<string, string> {
  const headers = Object.assign({}, custom_headers, { "content-type": "application/json" });
  return observer ? observer.amendHeaders(activity, headers) : headers;
}

const signsBodyOnly = ({ format }: WebhookScheme): boolean => format.getSignedText === undefined;

const signWith = (schemes: readonly WebhookScheme[], message: WebhookMessage): Readonly<Record<string, string>> =>
  Object.assign({}, ...schemes.map((scheme) => scheme.sign(message)));

interface SignedMessage extends OutgoingMessage {
  readonly text: string;
  /** Headers of the schemes that sign only the body. */
  readonly signatures: Readonly<Record<string, string>>;
}

const maxSignedEvents = 256;

/** Creates a function that signs each event once, also for a thousand webhooks with six attempts each. */
function createEventSigner(form: WebhookJsonForm, schemes: readonly WebhookScheme[]) {
  const cache = new Map<number, SignedMessage>();
  return (event: WebhookEvent, hmacKey: string): SignedMessage => {
    const { id, body: text } = event;
    const cached = cache.get(id);
    // After a reset, another event can have the same ID.
    if (cached?.text === text && cached.hmacKey === hmacKey) return cached;
    const body = Buffer.from(formatEventBody(event, form));
    const message = { text, body, hmacKey, signatures: signWith(schemes, { key: hmacKey, body, id, at: 0 }) };
    const [oldest] = cache.keys();
    // Only the oldest entry is dropped, because otherwise events that are still being delivered would be signed again.
    if (oldest !== undefined && cache.size >= maxSignedEvents) cache.delete(oldest);
    cache.set(id, message);
    return message;
  };
}
