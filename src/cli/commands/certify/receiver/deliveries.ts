import { toIsoMicros } from "../../../../base/clock.ts";
import { computeHmac, type Digest } from "../../../../base/hmac.ts";
import { type JsonForm, writeJson } from "../../../../base/json.ts";
import { isObject } from "../../../../base/object.ts";
import { contentHash, contentHashHeader } from "../../../../schemes/webhook.ts";
import type { Delivery } from "./sender.ts";

type Document = Readonly<Record<string, unknown>>;

/** How an event differs from the default one. */
export interface EventChanges {
  readonly activity?: string;
  readonly title?: string;
  readonly status?: string;
  /** Time of the event in seconds after the default event with the same number. */
  readonly laterSeconds?: number;
  /** Additional top-level members of the document. */
  readonly more?: Document;
}

/**
 * Genuine events and their signatures. All depend only on the key and the document of the emulator, so each run sends
 * the same bytes.
 */
export class Deliveries {
  readonly #document: Document;
  readonly key: string;

  constructor(document: Document, key: string) {
    this.#document = document;
    this.key = key;
  }

  /** The document of an event about the contract with this number, as compact JSON. */
  createEvent(number: number, changes: EventChanges = {}): string {
    const { activity, title = `Certificate ${number}`, status = "SIGN", laterSeconds = 0, more } = changes;
    const data = this.#document.activity_data as Document;
    const timestamp = addSeconds(String(data.timestamp), number + laterSeconds);
    return JSON.stringify({
      ...this.#document,
      ...(activity !== undefined && { activity }),
      activity_data: { ...data, timestamp },
      contract_id: number,
      contract_title: title,
      contract_status: status,
      contract_reference_id: `SVC-${number}`,
      ...more,
    });
  }

  /** Signs a body as the service does. */
  signDelivery(body: string | Buffer, hash = contentHash(this.key, body)): Delivery {
    return { body: Buffer.from(body), headers: [contentType, [contentHashHeader, hash]] };
  }

  /** Creates a genuine delivery of that event. */
  createGenuine(number: number, changes?: EventChanges, form: JsonForm = "compact"): Delivery {
    return this.signDelivery(writeJson(this.createEvent(number, changes), form));
  }

  /** The hash of a receiver with different rules. */
  hash(
    body: string,
    { digest = "sha512", key = Buffer.from(this.key, "base64"), encoding = "hex" }: HashRules,
  ): string {
    return computeHmac(digest, key, body).toString(encoding);
  }
}

interface HashRules {
  readonly digest?: Digest;
  readonly key?: string | Buffer;
  readonly encoding?: "hex" | "base64";
}

export const contentType: readonly [string, string] = ["Content-Type", "application/json"];

/** The same document with alphabetically sorted keys in all objects. */
export const sortKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, inner]) => [name, sortKeys(inner)]));
};

const addSeconds = (time: string, seconds: number): string => toIsoMicros(Date.parse(time) + seconds * 1_000);
