// The types of svc-toolkit/webhooks. The code imports them from here, and the package publishes this file as it is; functions
// are compared with what src/schemes/index.ts exports. What payloads hold is written out by `npm run build`
// (src/derive/operation-types.ts).
import type { WebhookPayloads } from "./payloads.d.ts";

/** Activities of a webhook. */
export type Activity = keyof WebhookPayloads;

/**
 * The body of a delivery, parsed: `const payload: WebhookPayload = JSON.parse(body)`. Its `activity` says which it is;
 * that of one is `WebhookPayload<"CONTRACT_SIGNED">`. More may be in it than is declared.
 */
export type WebhookPayload<Of extends Activity = Activity> = WebhookPayloads[Of];

/** It holds, or the one reason why not. */
export type Verdict<Reason extends string> = { readonly ok: true } | { readonly ok: false; readonly reason: Reason };

/** Headers as the usual servers give them: an object of any case, or a Headers. */
export type HeadersInput =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null };

/**
 * Verifies a received delivery, from its raw bytes. `hmacKey` is the base64 text from the service. Throws a TypeError
 * if one of the three is missing, if the key is not base64, or if the body was parsed already.
 */
export function verifyDelivery(delivery: {
  readonly body: string | ArrayBufferView | ArrayBufferLike;
  readonly headers: HeadersInput;
  readonly hmacKey: string;
}): Verdict<"missing" | "malformed" | "mismatch">;

/** The header that carries the signature. */
export const contentHashHeader: string;
/** The signature of a body: 128 lower-case hexadecimal digits of HMAC-SHA512. */
export function contentHash(hmacKeyBase64: string, body: string | Uint8Array): string;
/** The same over a body that is not held in memory. */
export function contentHashOfStream(
  hmacKeyBase64: string,
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<string>;
/** Verifies a header value against the received raw bytes. */
export function verifyContentHash(
  hmacKeyBase64: string,
  body: string | Uint8Array,
  given: string | undefined,
): Verdict<"malformed" | "mismatch">;

export interface StandardWebhookHeaders {
  readonly "webhook-id": string;
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
}

/** The three headers of Standard Webhooks. `timestamp` is in seconds. */
export function standardWebhookHeaders(message: {
  readonly secret: string;
  readonly id: string;
  readonly timestamp: string;
  readonly body: string | Uint8Array;
}): StandardWebhookHeaders;

/** Verifies the three headers of Standard Webhooks. */
export function verifyStandardWebhook(
  received: Partial<StandardWebhookHeaders> & {
    readonly secret: string;
    readonly body: string | Uint8Array;
    readonly nowMs: number;
  },
): Verdict<"missing" | "stale" | "mismatch">;

/** The reason why a signature does not fit: deviations from the scheme. Without deviations it fits. */
export interface Diagnosis {
  /** False when nothing tried leads to it. */
  readonly explained: boolean;
  readonly deviations: readonly {
    readonly about: "key" | "body" | "algorithm" | "encoding";
    readonly code: string;
    readonly text: string;
  }[];
  /** How many combinations were tried. */
  readonly tried: number;
}

/** Looks for the usual mistakes, alone and together. */
export function diagnose(given: {
  readonly key: string;
  readonly body: Uint8Array;
  readonly signature: string;
}): Diagnosis;
