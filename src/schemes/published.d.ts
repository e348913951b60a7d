// Published types of svc-toolkit/webhooks. The code imports them from this file, and the package publishes the file
// unchanged. A test compares the functions with the exports of src/schemes/index.ts. `npm run build` generates the
// types of payloads (src/derive/operation-types.ts).
import type { WebhookPayloads } from "./payloads.d.ts";

/** Activities of a webhook. */
export type Activity = keyof WebhookPayloads;

/**
 * Parsed body of a delivery: `const payload: WebhookPayload = JSON.parse(body)`. `activity` discriminates the union,
 * and `WebhookPayload<"CONTRACT_SIGNED">` is one member. The body can contain undeclared fields.
 */
export type WebhookPayload<Of extends Activity = Activity> = WebhookPayloads[Of];

/** Result of a verification, with the reason if it failed. */
export type Verdict<Reason extends string> = { readonly ok: true } | { readonly ok: false; readonly reason: Reason };

/** Headers in the forms of common servers: an object with names in any case, or a Headers. */
export type HeadersInput =
  | Readonly<Record<string, string | readonly string[] | undefined>>
  | { get(name: string): string | null };

/**
 * Verifies a received delivery by its raw bytes. `hmacKey` is the base64 string from the service. Throws a TypeError if
 * an argument is missing, if the key is not base64, or if the body was already parsed.
 */
export function verifyDelivery(delivery: {
  readonly body: string | ArrayBufferView | ArrayBufferLike;
  readonly headers: HeadersInput;
  readonly hmacKey: string;
}): Verdict<"missing" | "malformed" | "mismatch">;

/** Name of the header with the signature. */
export const contentHashHeader: string;
/** Computes the signature of a body: 128 lower-case hexadecimal digits of HMAC-SHA512. */
export function contentHash(hmacKeyBase64: string, body: string | Uint8Array): string;
/** Computes the signature of a body that is a stream. */
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

/** Returns the three headers of Standard Webhooks. `timestamp` is in seconds. */
export function standardWebhookHeaders(message: {
  readonly secret: string;
  readonly id: string;
  readonly timestamp: string;
  readonly body: string | Uint8Array;
}): StandardWebhookHeaders;

/** Verifies the three headers of Standard Webhooks. Throws a TypeError if `nowMs` is missing. */
export function verifyStandardWebhook(
  received: Partial<StandardWebhookHeaders> & {
    readonly secret: string;
    readonly body: string | Uint8Array;
    readonly nowMs: number;
  },
): Verdict<"missing" | "stale" | "mismatch">;

/** Reason why a signature does not match, as deviations from the scheme. Without deviations the signature matches. */
export interface Diagnosis {
  /** False if no combination leads to the signature. */
  readonly explained: boolean;
  readonly deviations: readonly {
    readonly about: "key" | "body" | "algorithm" | "encoding";
    readonly code: string;
    readonly text: string;
  }[];
  /** Number of combinations that were tried. */
  readonly tried: number;
}

/** Finds the common mistakes that lead to a signature, alone and combined. */
export function diagnose(given: {
  readonly key: string;
  readonly body: Uint8Array;
  readonly signature: string;
}): Diagnosis;
