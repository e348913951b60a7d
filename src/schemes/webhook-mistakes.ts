import { computeHmac, decodeAnyBase64, decodeBase64, hash } from "../base/hmac.ts";
import { tryParseJson } from "../base/object.ts";
import { trimTrailing } from "../base/text.ts";
import type { Diagnosis } from "./published.d.ts";
import { describeSignature, formatAlgorithm, type SignatureFormat } from "./webhook-schemes.ts";
import { unwrapBody, wrapBody } from "./wrapped-body.ts";

export type Deviation = Diagnosis["deviations"][number];

/** Result of one way to process an input. Without deviations the way is correct. */
export interface Variant<Value> {
  readonly value: Value;
  readonly deviations: readonly Deviation[];
}

function createDeviation<Value>(value: Value, about: Deviation["about"], code: string, text: string): Variant<Value> {
  return { value, deviations: [{ about, code, text }] };
}

const createExactVariant = <Value>(value: Value): Variant<Value> => ({ value, deviations: [] });

/** Lists decodings of the header. The correct one has exactly the encoding and the prefix of the scheme. */
export function listSignatureVariants(text: string, format: SignatureFormat): Variant<Buffer>[] {
  const isExact = text.startsWith(format.prefix) && isEncoded(text.slice(format.prefix.length), format);
  if (isExact) return [createExactVariant(Buffer.from(text.slice(format.prefix.length), format.encoding))];
  const bare = text
    .trim()
    .replace(/^["']|["']$/g, "")
    .replace(/^(?:hmac-)?sha-?\d+\s*[=:]\s*|^v1[,=]\s*/i, "");
  const right = describeSignature(format);
  const decoded = isEncoded(bare, format) ? Buffer.from(bare, format.encoding) : undefined;
  if (decoded) {
    const content = format.encoding === "hex" && format.prefix === "" ? "only the digits" : right;
    const words = `The signature has spaces, quotes or a prefix. The header contains ${content}.`;
    return [createDeviation(decoded, "encoding", "signature-dressed", words)];
  }
  if (isHex.test(bare.toLowerCase())) {
    const bytes = Buffer.from(bare, "hex");
    if (format.encoding === "base64")
      return [
        createDeviation(
          bytes,
          "encoding",
          "hex-signature",
          `The signature is in hexadecimal. The header has ${right}.`,
        ),
      ];
    const words = "The signature has upper-case hexadecimal digits. The header has lower-case digits.";
    return [createDeviation(bytes, "encoding", "upper-case", words)];
  }
  const bytes = decodeAnyBase64(bare);
  if (!bytes || bytes.length === 0) return [];
  const words =
    format.encoding === "hex"
      ? `The signature is in base64. The header has ${right}.`
      : `The signature is not padded standard base64. The header has ${right}.`;
  const inner = bytes.toString("latin1");
  return [
    createDeviation(bytes, "encoding", "base64-signature", words),
    // Some programs encode the hexadecimal string instead of the bytes.
    ...(isHex.test(inner)
      ? [createDeviation(Buffer.from(inner, "hex"), "encoding", "base64-of-hex", `${words} It was encoded twice.`)]
      : []),
  ];
}

const isHex = /^(?:[0-9a-f]{2})+$/;

const isEncoded = (text: string, { encoding }: SignatureFormat): boolean =>
  encoding === "hex" ? isHex.test(text) : !isHex.test(text.toLowerCase()) && !!decodeBase64(text)?.length;

/** Lists ways to convert the key's string to the key. The correct way is to decode it as base64. */
export function listKeyVariants(text: string): Variant<Buffer>[] {
  const bare = text.trim();
  const bytes = decodeBase64(bare);
  const decoded = decodeAnyBase64(bare);
  const plain = "The key was used without decoding. Decode it as base64 first.";
  const right: Variant<Buffer>[] = bytes ? [createExactVariant(bytes)] : [];
  return [
    ...right,
    ...(decoded && !bytes
      ? [createDeviation(decoded, "key", "key-not-standard-base64", "The key is not padded standard base64.")]
      : []),
    createDeviation(Buffer.from(bare), "key", "key-not-decoded", plain),
    createDeviation(
      Buffer.from(`${bare}\n`),
      "key",
      "key-with-newline",
      `${plain} Its trailing newline was included, too.`,
    ),
    ...(bytes
      ? [
          createDeviation(
            Buffer.from(bytes.toString("hex")),
            "key",
            "key-as-hex",
            "The hexadecimal digits of the decoded key were used. Use its bytes.",
          ),
          createDeviation(
            Buffer.from(bytes.toString("utf8")),
            "key",
            "key-as-text",
            "The decoded key was read as UTF-8 text, which changes its bytes. Keep it as bytes.",
          ),
        ]
      : []),
    ...(/^(?:[0-9a-f]{2})+$/i.test(bare)
      ? [
          createDeviation(
            Buffer.from(bare, "hex"),
            "key",
            "key-decoded-as-hex",
            "The key was decoded as hexadecimal digits.",
          ),
        ]
      : []),
    createDeviation(Buffer.alloc(0), "key", "key-empty", "The key is empty. Check that its variable is set."),
  ];
}

/** Lists ways in which the raw bytes can have changed before signing or verification. */
export function listBodyVariants(body: Uint8Array): Variant<Uint8Array>[] {
  const text = Buffer.from(body).toString("utf8");
  const createChangedVariants = (code: string, value: string, words: string): Variant<Uint8Array>[] =>
    value === text ? [] : [createDeviation(Buffer.from(value), "body", code, words)];
  return [
    createExactVariant(body),
    ...createChangedVariants("newline-trimmed", trimTrailing(text, "\r\n"), newlineTrimmed),
    ...createChangedVariants(
      "newline-added",
      `${text}\n`,
      "A trailing newline was signed, but this body has none: it was trimmed.",
    ),
    ...createChangedVariants(
      "crlf-newline-added",
      `${text}\r\n`,
      "A trailing CRLF was signed, but this body has none.",
    ),
    // This variant precedes the next one, which treats the character as whitespace.
    ...createChangedVariants(
      "byte-order-mark",
      text.replace(/^\ufeff/, ""),
      "This body begins with a byte order mark.",
    ),
    ...createChangedVariants("trimmed", text.trim(), "This body has leading or trailing spaces that were not signed."),
    ...createChangedVariants("lf", text.replaceAll("\r\n", "\n"), "This body has CRLF where LF was signed."),
    ...createChangedVariants("crlf", text.replace(/\r?\n/g, "\r\n"), "This body has LF where CRLF was signed."),
    ...rewriteJson(text).flatMap(({ code, how, text: other }) =>
      createChangedVariants(
        code,
        other,
        `The JSON was parsed and serialized again (${how}). Sign and verify the raw bytes, before any parsing.`,
      ),
    ),
    ...createChangedVariants("empty", "", "An empty body was signed: a parser had already read the body."),
    ...listUnwrappedVariants(body),
    ...wrapBody(body).map((form) => createDeviation(form.body, "body", form.code, form.text)),
  ];
}

/** Maximum number of wrappings to remove. An example with three is the base64 of a gzip of a JSON string. */
const maxWrappings = 3;

/** Lists the contents of a wrapped body, also without the trailing newline of a text editor. */
function listUnwrappedVariants(body: Uint8Array, before: readonly Deviation[] = []): Variant<Uint8Array>[] {
  if (before.length === maxWrappings) return [];
  return unwrapBody(body).flatMap(({ code, text, body: inner }) => {
    const deviations = [...before, { about: "body", code, text } as const];
    const string = Buffer.from(inner).toString("utf8");
    const trimmed = trimTrailing(string, "\r\n");
    const newline = { about: "body", code: "newline-trimmed", text: newlineTrimmed } as const;
    return [
      { value: inner, deviations },
      ...(trimmed === string ? [] : [{ value: Buffer.from(trimmed), deviations: [...deviations, newline] }]),
      ...listUnwrappedVariants(inner, deviations),
    ];
  });
}

const newlineTrimmed = "This body ends with a newline that was not signed.";

type SignFunction = (key: Buffer, body: Uint8Array) => Buffer;

const digests = ["sha512", "sha256", "sha384", "sha1"] as const;

/** Lists ways to compute the signature. `before` is the text that the scheme signs before the body. */
export function listAlgorithms({ digest: right, ...format }: SignatureFormat, before: string): Variant<SignFunction>[] {
  const hint = `Use ${formatAlgorithm({ digest: right })}.`;
  const createAlgorithm = (value: SignFunction, code: string, text: string) =>
    createDeviation(value, "algorithm", code, `${text} ${hint}`);
  return [
    createExactVariant((key, body) => computeHmac(right, key, before, body)),
    ...digests
      .filter((digest) => digest !== right)
      .map((digest) =>
        createAlgorithm(
          (key, body) => computeHmac(digest, key, before, body),
          `hmac-${digest}`,
          `The algorithm was ${formatAlgorithm({ digest })}.`,
        ),
      ),
    ...(format.getSignedText
      ? [
          createDeviation<SignFunction>(
            (key, body) => computeHmac(right, key, body),
            "body",
            "body-only",
            "Only the body was signed. The scheme also signs other headers.",
          ),
        ]
      : []),
    createAlgorithm((_, body) => hash(right, before, body), `plain-${right}`, "The body was hashed without a key."),
    ...(right === "sha256"
      ? []
      : [createAlgorithm((_, body) => hash("sha256", before, body), "plain-sha256", "SHA256 without a key was used.")]),
    createAlgorithm(
      (key, body) => hash(right, key, before, body),
      "key-before-body",
      "The hash of key and body was used.",
    ),
  ];
}

interface RewrittenJson {
  readonly code: string;
  readonly how: string;
  readonly text: string;
}

/** Returns the same document in the styles of common serializers. Returns an empty list if the text is not JSON. */
function rewriteJson(text: string): readonly RewrittenJson[] {
  const document = tryParseJson(text);
  if (document === undefined) return [];
  const compact = JSON.stringify(document);
  const blanks = toSpacedJson(document);
  return [
    { code: "json-compact", how: "compact, as JSON.stringify does", text: compact },
    { code: "json-sorted", how: "compact, with sorted keys", text: JSON.stringify(sortKeys(document)) },
    { code: "json-spaced", how: "with spaces after : and ,", text: blanks },
    {
      code: "json-spaced-ascii",
      how: "with spaces and \\u escapes, as Python's json.dumps does",
      text: escapeNonAscii(blanks),
    },
    {
      code: "json-spaced-sorted",
      how: "with spaces and sorted keys",
      text: escapeNonAscii(toSpacedJson(sortKeys(document))),
    },
    { code: "json-ascii", how: "compact, with \\u escapes", text: escapeNonAscii(compact) },
    {
      code: "json-slashes",
      how: "compact, with \\/ and \\u escapes, as PHP's json_encode does",
      text: escapeNonAscii(compact.replaceAll("/", "\\/")),
    },
    { code: "json-indented", how: "indented by 2", text: JSON.stringify(document, null, 2) },
    { code: "json-indented", how: "indented by 4", text: JSON.stringify(document, null, 4) },
    { code: "json-twice", how: "a JSON text in a JSON text", text: JSON.stringify(text) },
  ];
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sortKeys(inner)]),
  );
}

function toSpacedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toSpacedJson).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([name, inner]) => `${JSON.stringify(name)}: ${toSpacedJson(inner)}`)
    .join(", ")}}`;
}

const escapeNonAscii = (text: string): string =>
  text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
