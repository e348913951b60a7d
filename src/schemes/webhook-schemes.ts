import { type Bytes, computeHmac, type Digest } from "../base/hmac.ts";
import { createInvalidVerdict, type Verdict } from "./verdict.ts";
import {
  compareContentHash,
  contentHash,
  contentHashHeader,
  contentHashOfStream,
  standardWebhookHeaders,
  standardWebhookToleranceSeconds,
  verifyStandardWebhook,
} from "./webhook.ts";

export interface WebhookMessage {
  /** Key of the workspace in base64. */
  readonly key: string;
  readonly body: Bytes;
  readonly id: number;
  /** Time of the attempt, in milliseconds since the epoch. */
  readonly at: number;
}

type ReceivedHeaders = Readonly<Record<string, string | undefined>>;

interface ReceivedWebhook {
  readonly key: string;
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  readonly headers: ReceivedHeaders;
  readonly nowMs: number;
}

/** Encodings of an HMAC, by their names in Node.js. */
const encodings = {
  hex: { name: "lower-case hex", characters: "lower-case hexadecimal digits", pattern: "[0-9a-f]" },
  base64: { name: "base64", characters: "base64 characters", pattern: "[0-9A-Za-z+/=]" },
};

/** HMAC of a scheme, for code that computes it in another way: wrong on purpose, or in a browser. */
export interface SignatureFormat {
  readonly digest: Digest;
  readonly encoding: keyof typeof encodings;
  /** Beginning of the header, before the encoded HMAC. */
  readonly prefix: string;
  /**
   * Returns the text that is signed before the body, from the headers of the scheme. Without it, only the body is
   * signed, so an event has the same signature in all attempts.
   */
  readonly getSignedText?: (headers: ReceivedHeaders) => string;
}

export interface WebhookScheme<Name extends string = string> {
  readonly name: Name;
  /** Origin of the scheme in descriptions: "the service". */
  readonly title: string;
  /** Names of the headers. The header of the signature is the last one. */
  readonly headers: readonly [...others: string[], signature: string];
  readonly format: SignatureFormat;
  /** Returns the headers of a message. Throws a TypeError if the key is not padded standard base64. */
  sign(message: WebhookMessage): Readonly<Record<string, string>>;
  /** Verifies the received request. Rejects with a TypeError if the key is not padded standard base64. */
  verify(received: ReceivedWebhook): Promise<Verdict<string>>;
  /** Meaning of each reason of a verdict, in words that follow a colon. */
  readonly reasonTexts: Readonly<Record<string, string>>;
}

const commonReasonTexts = {
  missing: "the headers contain no signature",
  mismatch: "it was signed with another key, or the bytes were changed",
};

/** Scheme of the service. It signs every webhook (DECISIONS.md, P19). */
const contentHashScheme: WebhookScheme<"content-hash"> = {
  name: "content-hash",
  title: "the service",
  headers: [contentHashHeader],
  format: { digest: "sha512", encoding: "hex", prefix: "" },
  sign: ({ key, body }) => ({ [contentHashHeader]: contentHash(key, body) }),
  async verify({ key, body, headers }) {
    const given = headers[contentHashHeader.toLowerCase()];
    if (given === undefined) return createInvalidVerdict("missing");
    return compareContentHash(given, await contentHashOfStream(key, body));
  },
  reasonTexts: { ...commonReasonTexts, malformed: "the signature is not 128 lower-case hexadecimal digits" },
};

/** Standard Webhooks (DECISIONS.md, P20). */
const standardScheme: WebhookScheme<"standard"> = {
  name: "standard",
  title: "Standard Webhooks",
  headers: ["webhook-id", "webhook-timestamp", "webhook-signature"],
  format: {
    digest: "sha256",
    encoding: "base64",
    prefix: "v1,",
    getSignedText: (headers) => `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.`,
  },
  sign: ({ key, body, id, at }) => ({
    ...standardWebhookHeaders({ secret: key, id: `msg_${id}`, timestamp: String(Math.floor(at / 1_000)), body }),
  }),
  async verify({ key, body, headers, nowMs }) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return verifyStandardWebhook({ ...headers, secret: key, body: Buffer.concat(chunks), nowMs });
  },
  reasonTexts: {
    ...commonReasonTexts,
    stale: `its timestamp differs from the current time by more than ${standardWebhookToleranceSeconds / 60} minutes`,
  },
};

/**
 * All schemes. The first scheme signs every webhook, and is the only one of console, OpenAPI documents, and of the
 * commands `certify`, `sign` and `replay --sign`. The others are added on request. Their names are also in
 * `emulator/published.d.ts`.
 */
export const webhookSchemes = [contentHashScheme, standardScheme] as const;

type OptionalSchemeName = Exclude<(typeof webhookSchemes)[number]["name"], "content-hash">;

export const getDefaultScheme = (): WebhookScheme => webhookSchemes[0];

export const listOptionalSchemes = (): readonly WebhookScheme<OptionalSchemeName>[] => {
  const [, ...others] = webhookSchemes;
  return others;
};

/** Returns the scheme with this name, or the default scheme without a name. */
export const findScheme = (name: string | undefined): WebhookScheme =>
  webhookSchemes.find((scheme) => scheme.name === name) ?? getDefaultScheme();

/** Returns the first scheme whose signature a received webhook has, or the default scheme. */
export const detectScheme = (headers: ReceivedHeaders): WebhookScheme =>
  webhookSchemes.find((scheme) => readSignature(scheme, headers) !== undefined) ?? getDefaultScheme();

export const getSignatureHeader = ({ headers }: WebhookScheme): string => headers.at(-1)!;

export const readSignature = (scheme: WebhookScheme, headers: ReceivedHeaders): string | undefined =>
  headers[getSignatureHeader(scheme).toLowerCase()];

/** Reports whether a header belongs to a scheme. `name` is in lower case. */
export const isSchemeHeader = (name: string): boolean =>
  webhookSchemes.some(({ headers }) => headers.some((header) => header.toLowerCase() === name));

/** Reports whether a header contains a signature. `name` is in lower case. */
export const isSignatureHeader = (name: string): boolean =>
  webhookSchemes.some((scheme) => getSignatureHeader(scheme).toLowerCase() === name);

export const getSignatureLength = ({ digest, encoding }: SignatureFormat): number =>
  computeHmac(digest, "").toString(encoding).length;

/** Describes the form of a signature: `128 lower-case hexadecimal digits`. */
export function describeSignature(format: SignatureFormat): string {
  const { encoding, prefix } = format;
  return `${prefix === "" ? "" : `"${prefix}" and `}${getSignatureLength(format)} ${encodings[encoding].characters}`;
}

/** Builds the regular expression of a signature, for JSON Schema. */
export const buildSignaturePattern = (format: SignatureFormat): string =>
  `^${format.prefix}${encodings[format.encoding].pattern}{${getSignatureLength(format)}}$`;

export const getEncodingName = ({ encoding }: SignatureFormat): string => encodings[encoding].name;

export const formatAlgorithm = ({ digest }: Pick<SignatureFormat, "digest">): string => `HMAC-${digest.toUpperCase()}`;

/** Computes the signature of the bytes with a decoded key. `headers` are the headers of the message. */
export function computeSignature(
  { digest, encoding, prefix, getSignedText }: SignatureFormat,
  { key, body, headers }: { readonly key: Bytes; readonly body: Bytes; readonly headers: ReceivedHeaders },
): string {
  return prefix + computeHmac(digest, key, getSignedText?.(headers) ?? "", body).toString(encoding);
}

export const toLowerCaseNames = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
