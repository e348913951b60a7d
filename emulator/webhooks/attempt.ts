import type { Clock, Wall } from "../../src/base/clock.ts";
import { standardWebhookHeaders } from "../../src/schemes/standard-webhooks.ts";
import { contentHash, contentHashHeader } from "../../src/schemes/webhook.ts";
import type { Outgoing, Posted } from "../http/outgoing.ts";
import type { Settings } from "../settings.ts";
import type { Delivery, WebhookEvent } from "./deliveries.ts";
import type { Subscription } from "./subscriptions.ts";

/** All that one attempt needs, read in one view. */
export interface Sendable {
  readonly delivery: Delivery;
  readonly event: WebhookEvent;
  readonly subscription: Subscription;
  /** Base64, of the workspace. */
  readonly hmacKey: string;
}

/** What is about to be signed and sent. */
export interface Message {
  readonly body: Uint8Array;
  readonly hmacKey: string;
}

/**
 * Scripted trouble on the way out: called instead of sending, with the way to send. It may send other bytes, sign
 * with another key, send twice, or not at all.
 */
export type Intervene = (
  about: Sendable & { readonly number: number },
  message: Message,
  send: (message: Message) => Promise<Posted>,
) => Promise<Posted>;

export interface Sender {
  readonly clock: Clock;
  readonly wall: Wall;
  readonly settings: Settings;
  readonly outgoing: Outgoing;
  readonly intervene?: Intervene | undefined;
}

/** What one attempt brought: times virtual, `durationMs` on the wall. */
export interface Attempted {
  readonly url: string;
  readonly at: number;
  readonly durationMs: number;
  readonly posted: Posted;
}

/** Signs and sends the bytes of the event once. Rejects only when the signal breaks it off. */
export async function attempt(sender: Sender, sendable: Sendable, signal: AbortSignal): Promise<Attempted> {
  const { clock, wall, settings, outgoing, intervene } = sender;
  const at = clock.now();
  const begun = wall.now();
  const send = (message: Message) =>
    outgoing.post({
      url: sendable.subscription.url,
      headers: headersOf(sendable, message, at, settings),
      body: message.body,
      signal,
    });
  const message = { body: Buffer.from(sendable.event.body), hmacKey: sendable.hmacKey };
  const posted = intervene
    ? await intervene({ ...sendable, number: sendable.delivery.attempts + 1 }, message, send)
    : await send(message);
  // A duration differs from run to run, and deterministic means the same bytes.
  const durationMs = settings.deterministic ? 0 : Math.round(wall.now() - begun);
  return { url: sendable.subscription.url, at, durationMs, posted };
}

function headersOf(
  { delivery, subscription }: Sendable,
  { body, hmacKey }: Message,
  at: number,
  { standardWebhooks }: Settings,
): Record<string, string> {
  return {
    ...subscription.custom_headers,
    "content-type": "application/json",
    [contentHashHeader]: contentHash(hmacKey, body),
    ...(standardWebhooks &&
      standardWebhookHeaders({
        secret: hmacKey,
        id: `msg_${delivery.id}`,
        timestamp: String(Math.floor(at / 1_000)),
        body,
      })),
  };
}

/** 2xx alone is success; a redirect is not (decisions.md, C18). */
export const succeeded = (posted: Posted): boolean => "status" in posted && posted.status >= 200 && posted.status < 300;
