// The types of svc-toolkit/webhooks. The code imports them from here, and the package publishes this file unchanged.
// Functions are compared with the exports of src/schemes/index.ts. `npm run build` writes out the types of payloads
// (src/derive/operation-types.ts).
import type { WebhookPayloads } from "./payloads.d.ts";

/** Activities of a webhook. */
export type Activity = keyof WebhookPayloads;

/**
 * The parsed body of a delivery: `const payload: WebhookPayload = JSON.parse(body)`. `activity` discriminates the
 * union; one member is `WebhookPayload<"CONTRACT_SIGNED">`. There may be undeclared fields.
 */
export type WebhookPayload<Of extends Activity = Activity> = WebhookPayloads[Of];

/** Valid, or the reason why not. */
export type Verdict<Reason extends string> = { readonly ok: true } | { readonly ok: false; readonly reason: Reason };

/** Headers in the forms of common servers: an object with names in any case, or a Headers. */
export type HeadersInput =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null };

/**
 * Verifies a received delivery by its raw bytes. `hmacKey` is the base64 string from the service. Throws a TypeError if
 * an argument is missing, if the key is not base64, or if the body was parsed already.
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
/** The same for a body that is not held in memory. */
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

/** The reason why a signature does not match: deviations from the scheme. Without deviations it matches. */
export interface Diagnosis {
  /** False if no combination leads to it. */
  readonly explained: boolean;
  readonly deviations: readonly {
    readonly about: "key" | "body" | "algorithm" | "encoding";
    readonly code: string;
    readonly text: string;
  }[];
  /** Number of combinations that were tried. */
  readonly tried: number;
}

/** Looks for the usual mistakes, alone and combined. */
export function diagnose(given: {
  readonly key: string;
  readonly body: Uint8Array;
  readonly signature: string;
}): Diagnosis;
