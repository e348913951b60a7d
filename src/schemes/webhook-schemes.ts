import type { Bytes } from "../base/hmac.ts";
import { standardWebhookHeaders, standardWebhookToleranceSeconds, verifyStandardWebhook } from "./standard-webhooks.ts";
import { createInvalidVerdict, type Verdict } from "./verdict.ts";
import { compareContentHash, contentHash, contentHashHeader, contentHashOfStream } from "./webhook.ts";

/** Signed parts of a webhook. */
export interface WebhookMessage {
  /** Key of the workspace in base64. */
  readonly key: string;
  readonly body: Bytes;
  /** Id of the delivery, the same for all attempts. */
  readonly id: number;
  /** Time of the attempt, milliseconds since the epoch. */
  readonly at: number;
}

/** The received request, with lower-case header names. */
export interface ReceivedWebhook {
  readonly key: string;
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly nowMs: number;
}

/** A way to sign webhooks. The deliveries of the emulator and `svc webhooks verify` use this list. */
export interface WebhookScheme<Name extends string = string> {
  /** Name in options and flags. */
  readonly name: Name;
  readonly headers: readonly string[];
  /** The headers of a message. Throws a TypeError if the key is not padded standard base64. */
  sign(message: WebhookMessage): Readonly<Record<string, string>>;
  /** Verifies the received request. Rejects with a TypeError for such a key. */
  verify(received: ReceivedWebhook): Promise<Verdict<string>>;
  /** The meaning of each reason of a verdict, in words that follow a colon. */
  readonly explain: Readonly<Record<string, string>>;
}

const explain = {
  missing: "the headers hold no signature",
  mismatch: "it was signed with another key, or the bytes were changed",
};

/** The service's own scheme (DECISIONS.md, P19), which signs every webhook. */
const contentHashScheme: WebhookScheme<"content-hash"> = {
  name: "content-hash",
  headers: [contentHashHeader],
  sign: ({ key, body }) => ({ [contentHashHeader]: contentHash(key, body) }),
  async verify({ key, body, headers }) {
    const given = headers[contentHashHeader.toLowerCase()];
    if (given === undefined) return createInvalidVerdict("missing");
    return compareContentHash(given, await contentHashOfStream(key, body));
  },
  explain: { ...explain, malformed: "the signature is not 128 lower-case hexadecimal digits" },
};

/** Standard Webhooks (DECISIONS.md, P20). */
const standardScheme: WebhookScheme<"standard"> = {
  name: "standard",
  headers: ["webhook-id", "webhook-timestamp", "webhook-signature"],
  sign: ({ key, body, id, at }) => ({
    ...standardWebhookHeaders({ secret: key, id: `msg_${id}`, timestamp: String(Math.floor(at / 1_000)), body }),
  }),
  async verify({ key, body, headers, nowMs }) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return verifyStandardWebhook({ ...headers, secret: key, body: Buffer.concat(chunks), nowMs });
  },
  explain: {
    ...explain,
    stale: `its timestamp differs from the current time by more than ${standardWebhookToleranceSeconds / 60} minutes`,
  },
};

/** All schemes; the first is the service's own. */
export const webhookSchemes = [contentHashScheme, standardScheme] as const;
export type WebhookSchemeName = (typeof webhookSchemes)[number]["name"];

export const webhookSchemeNames = webhookSchemes.map(({ name }) => name);

const [, ...optionalSchemes] = webhookSchemes;

/** Headers that a webhook has only on request. */
export const optionalWebhookSchemeNames = optionalSchemes.map(({ name }) => name);

export const findWebhookScheme = (name: WebhookSchemeName): WebhookScheme =>
  webhookSchemes.find((scheme) => scheme.name === name)!;
