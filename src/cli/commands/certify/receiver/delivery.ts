import { toIsoMicros, type WallClock } from "../../../../base/clock.ts";
import type { Digest } from "../../../../base/hmac.ts";
import {
  computeSignature,
  getDefaultScheme,
  getSignatureHeader,
  toLowerCaseNames,
} from "../../../../schemes/webhook-schemes.ts";
import type { RawDelivery } from "./sender.ts";

type Document = Readonly<Record<string, unknown>>;

/** Differences of an event from the default event. */
export interface EventOptions {
  readonly activity?: string;
  readonly title?: string;
  readonly status?: string;
  /** Offset in seconds from the time of the default event with the same number. */
  readonly laterSeconds?: number;
  readonly extraFields?: Document;
}

/** Differences of a forged signature from a genuine one. */
export interface ForgeryOptions {
  /** Bytes to sign instead of the body. */
  readonly body?: string;
  readonly digest?: Digest;
  readonly encoding?: "hex" | "base64";
  /** A decoded key, or the string of the key without decoding. */
  readonly key?: string | Buffer;
  /** Changes the signature. */
  readonly edit?: (signature: string) => string;
}

export const { digest, encoding } = getDefaultScheme().format;
export const encodingName = encoding === "hex" ? "lower-case hex" : "base64";
/** The most likely wrong choices of a receiver. */
export const otherDigest = digest === "sha256" ? "sha512" : "sha256";
export const otherEncoding = encoding === "hex" ? "base64" : "hex";

export const jsonContentType: readonly [name: string, value: string] = ["Content-Type", "application/json"];

/**
 * Creates genuine events and their signatures by the default scheme. Events depend only on the key and the document of
 * the emulator, so each run sends the same bytes.
 */
export class DeliveryFactory {
  readonly #document: Document;
  readonly #wall: WallClock;
  readonly key: string;
  #lastId = 0;

  constructor(document: Document, key: string, wall: WallClock) {
    this.#document = document;
    this.#wall = wall;
    this.key = key;
  }

  /** Creates the document of an event about the contract with this number, as compact JSON. */
  createEvent(number: number, changes: EventOptions = {}): string {
    const { activity, title = `Certificate ${number}`, status = "SIGN", laterSeconds = 0, extraFields } = changes;
    const data = this.#document.activity_data as Document;
    const timestamp = toIsoMicros(Date.parse(String(data.timestamp)) + (number + laterSeconds) * 1_000);
    return JSON.stringify({
      ...this.#document,
      ...(activity !== undefined && { activity }),
      activity_data: { ...data, timestamp },
      contract_id: number,
      contract_title: title,
      contract_status: status,
      contract_reference_id: `SVC-${number}`,
      ...extraFields,
    });
  }

  /** Signs a body as the service does. */
  sign(text: string | Buffer): RawDelivery {
    const body = Buffer.from(text);
    this.#lastId += 1;
    const signed = getDefaultScheme().sign({ key: this.key, body, id: this.#lastId, at: this.#wall.now() });
    return { body, headers: [jsonContentType, ...Object.entries(signed)] };
  }

  /** Signs a body by the rules of another sender or of a wrong receiver. */
  forge(text: string, { edit = (signature) => signature, body = text, ...changes }: ForgeryOptions): RawDelivery {
    const genuine = this.sign(text);
    const scheme = getDefaultScheme();
    const { key = Buffer.from(this.key, "base64"), ...format } = changes;
    const headers = toLowerCaseNames(Object.fromEntries(genuine.headers));
    const signature = edit(computeSignature({ ...scheme.format, ...format }, { key, body, headers }));
    const forgedHeader = [getSignatureHeader(scheme), signature] as const;
    return { body: genuine.body, headers: [...genuine.headers.slice(0, -1), forgedHeader] };
  }
}
