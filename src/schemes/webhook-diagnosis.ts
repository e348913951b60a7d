import { computeHmac, decodeAnyBase64, decodeBase64, hash } from "../base/hmac.ts";
import { sortKeys, writeJson } from "../base/json.ts";
import { trimTrailing } from "../base/text.ts";
import type { Diagnosis } from "./published.d.ts";
import {
  describeSignature,
  formatAlgorithm,
  getDefaultScheme,
  type SignatureFormat,
  type WebhookScheme,
} from "./webhook-schemes.ts";
import { type Mistake, unwrapBody, wrapBody } from "./wrapped-body.ts";

export type { Diagnosis };

interface SignedDelivery {
  /** Signing key, exactly as read from the file or the environment variable. */
  readonly key: string;
  readonly body: Uint8Array;
  readonly signature: string;
  /** All headers of the delivery, with lower-case names, for a scheme that signs other headers. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/**
 * Finds the mistake that leads to a signature. It tries every common mistake with key, body, algorithm and encoding,
 * alone and combined, fewest mistakes first. The function is pure, and the body is in memory.
 */
export function diagnose(
  { key, body, signature, headers = {} }: SignedDelivery,
  { format }: WebhookScheme = getDefaultScheme(),
): Diagnosis {
  const digests = listSignatureVariants(signature, format);
  const algorithms = listAlgorithms(format, format.getSignedText?.(headers) ?? "");
  const bodies = listBodyVariants(body);
  const keys = listKeyVariants(key);
  const combinations = algorithms.flatMap((algorithm) =>
    keys.flatMap((key) => bodies.map((other) => [algorithm, key, other] as const)),
  );
  const byMistakes = combinations.sort((a, b) => countMistakes(a) - countMistakes(b));
  let tried = 0;
  for (const [algorithm, oneKey, oneBody] of byMistakes) {
    tried += 1;
    const digest = algorithm.value(oneKey.value, oneBody.value);
    const encoding = digests.find(({ value }) => value.equals(digest));
    if (!encoding) continue;
    const all = [oneKey, oneBody, algorithm, encoding].flatMap(({ deviations }) => deviations);
    return { explained: true, deviations: all, tried };
  }
  return { explained: false, deviations: [], tried };
}

const countMistakes = (variants: readonly Variant<unknown>[]): number =>
  variants.reduce((sum, { deviations }) => sum + deviations.length, 0);

type Deviation = Diagnosis["deviations"][number];

/** Result of processing an input in one way. The result is correct if there are no deviations. */
interface Variant<Value> {
  readonly value: Value;
  readonly deviations: readonly Deviation[];
}

/** Lists the wrong ways. A mistake without a value is impossible for this input. */
const listDeviations = <Value>(about: Deviation["about"], mistakes: readonly Mistake<Value | undefined>[]) =>
  mistakes.flatMap(([code, text, value]): Variant<Value>[] =>
    value === undefined ? [] : [{ value, deviations: [{ about, code, text }] }],
  );

const createExactVariant = <Value>(value: Value): Variant<Value> => ({ value, deviations: [] });

/** Lists decodings of the header. The correct one has exactly the encoding and the prefix of the scheme. */
function listSignatureVariants(text: string, format: SignatureFormat): Variant<Buffer>[] {
  const { encoding, prefix } = format;
  const rest = text.slice(prefix.length);
  if (text.startsWith(prefix) && isEncoded(rest, format)) return [createExactVariant(Buffer.from(rest, encoding))];
  const bare = text
    .trim()
    .replace(/^["']|["']$/g, "")
    .replace(/^(?:hmac-)?sha-?\d+\s*[=:]\s*|^v1[,=]\s*/i, "");
  const right = describeSignature(format);
  if (isEncoded(bare, format)) {
    const content = encoding === "hex" && prefix === "" ? "only the digits" : right;
    const words = `The signature has spaces, quotes or a prefix. The header contains ${content}.`;
    return listDeviations("encoding", [["signature-dressed", words, Buffer.from(bare, encoding)]]);
  }
  if (isHex.test(bare.toLowerCase())) {
    const [code, words] =
      encoding === "base64"
        ? ["hex-signature", `The signature is in hexadecimal. The header has ${right}.`]
        : ["upper-case", "The signature has upper-case hexadecimal digits. The header has lower-case digits."];
    return listDeviations("encoding", [[code, words, Buffer.from(bare, "hex")]]);
  }
  const bytes = decodeAnyBase64(bare);
  if (!bytes || bytes.length === 0) return [];
  const wrong = encoding === "hex" ? "in base64" : "not padded standard base64";
  const words = `The signature is ${wrong}. The header has ${right}.`;
  const inner = bytes.toString("latin1");
  return listDeviations("encoding", [
    ["base64-signature", words, bytes],
    // Some programs encode the hexadecimal string instead of the bytes.
    ["base64-of-hex", `${words} It was encoded twice.`, isHex.test(inner) ? Buffer.from(inner, "hex") : undefined],
  ]);
}

const isHex = /^(?:[0-9a-f]{2})+$/;

const isEncoded = (text: string, { encoding }: SignatureFormat): boolean =>
  text !== "" &&
  Buffer.from(text, encoding).toString(encoding) === text &&
  (encoding === "hex" || !isHex.test(text.toLowerCase()));

/** Lists ways to convert the key's string to the key. The correct way is to decode it as base64. */
function listKeyVariants(text: string): Variant<Buffer>[] {
  const bare = text.trim();
  const bytes = decodeBase64(bare);
  const plain = "The key was used without decoding. Decode it as base64 first.";
  const hexWords = "The hexadecimal digits of the decoded key were used. Use its bytes.";
  const textWords = "The decoded key was read as UTF-8 text, which changes its bytes. Keep it as bytes.";
  return [
    ...(bytes ? [createExactVariant(bytes)] : []),
    ...listDeviations("key", [
      ["key-not-standard-base64", "The key is not padded standard base64.", bytes ? undefined : decodeAnyBase64(bare)],
      ["key-not-decoded", plain, Buffer.from(bare)],
      ["key-with-newline", `${plain} Its trailing newline was included, too.`, Buffer.from(`${bare}\n`)],
      ["key-as-hex", hexWords, bytes && Buffer.from(bytes.toString("hex"))],
      ["key-as-text", textWords, bytes && Buffer.from(bytes.toString("utf8"))],
      [
        "key-decoded-as-hex",
        "The key was decoded as hexadecimal digits.",
        isHex.test(bare.toLowerCase()) ? Buffer.from(bare, "hex") : undefined,
      ],
      ["key-empty", "The key is empty. Check that its variable is set.", Buffer.alloc(0)],
    ]),
  ];
}

/** Lists ways in which the raw bytes can have changed before signing or verification. */
function listBodyVariants(body: Uint8Array): Variant<Uint8Array>[] {
  const text = Buffer.from(body).toString("utf8");
  const changes: Mistake<string>[] = [
    ["newline-trimmed", newlineTrimmed, trimTrailing(text, "\r\n")],
    ["newline-added", "A trailing newline was signed, but this body has none: it was trimmed.", `${text}\n`],
    ["crlf-newline-added", "A trailing CRLF was signed, but this body has none.", `${text}\r\n`],
    // This variant precedes the next one, which treats the character as whitespace.
    ["byte-order-mark", "This body begins with a byte order mark.", text.replace(/^\ufeff/, "")],
    ["trimmed", "This body has leading or trailing spaces that were not signed.", text.trim()],
    ["lf", "This body has CRLF where LF was signed.", text.replaceAll("\r\n", "\n")],
    ["crlf", "This body has LF where CRLF was signed.", text.replace(/\r?\n/g, "\r\n")],
    ...rewriteJson(text),
    ["empty", "An empty body was signed: a parser had already read the body.", ""],
  ];
  return [
    createExactVariant(body),
    ...listDeviations(
      "body",
      changes.map(([code, words, value]) => [code, words, value === text ? undefined : Buffer.from(value)]),
    ),
    ...listUnwrappedVariants(body),
    ...listDeviations("body", wrapBody(body)),
  ];
}

/** Maximum number of wrappings to remove. An example with three is the base64 of a gzip of a JSON string. */
const maxWrappings = 3;

/** Lists the contents of a wrapped body, also without the trailing newline of a text editor. */
function listUnwrappedVariants(body: Uint8Array, before: readonly Deviation[] = []): Variant<Uint8Array>[] {
  if (before.length === maxWrappings) return [];
  return unwrapBody(body).flatMap(([code, text, inner]) => {
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
function listAlgorithms({ digest: right, getSignedText }: SignatureFormat, before: string): Variant<SignFunction>[] {
  const hint = `Use ${formatAlgorithm({ digest: right })}.`;
  const headersIgnored = "Only the body was signed. The scheme also signs other headers.";
  return [
    createExactVariant((key, body) => computeHmac(right, key, before, body)),
    ...listDeviations<SignFunction>(
      "algorithm",
      digests.map((digest) => [
        `hmac-${digest}`,
        `The algorithm was ${formatAlgorithm({ digest })}. ${hint}`,
        digest === right ? undefined : (key, body) => computeHmac(digest, key, before, body),
      ]),
    ),
    ...listDeviations<SignFunction>("body", [
      ["body-only", headersIgnored, getSignedText && ((key, body) => computeHmac(right, key, body))],
    ]),
    ...listDeviations<SignFunction>("algorithm", [
      [`plain-${right}`, `The body was hashed without a key. ${hint}`, (_, body) => hash(right, before, body)],
      [
        "plain-sha256",
        `SHA256 without a key was used. ${hint}`,
        right === "sha256" ? undefined : (_, body) => hash("sha256", before, body),
      ],
      ["key-before-body", `The hash of key and body was used. ${hint}`, (key, body) => hash(right, key, before, body)],
    ]),
  ];
}

/** The list is empty if the text is not JSON, or nests too deeply to be serialized. */
function rewriteJson(text: string): Mistake<string>[] {
  try {
    return listJsonStyles(text, JSON.parse(text));
  } catch {
    return [];
  }
}

/** Lists the same document in the styles of common serializers. */
function listJsonStyles(text: string, document: unknown): Mistake<string>[] {
  const compact = JSON.stringify(document);
  const sorted = JSON.stringify(sortKeys(document));
  const spaced = writeJson(compact, "spaced");
  const styles = [
    ["json-compact", "compact, as JSON.stringify does", compact],
    ["json-sorted", "compact, with sorted keys", sorted],
    ["json-spaced", "with spaces after : and ,", spaced],
    ["json-spaced-ascii", "with spaces and \\u escapes, as Python's json.dumps does", writeJson(spaced, "escaped")],
    ["json-spaced-sorted", "with spaces and sorted keys", writeJson(writeJson(sorted, "spaced"), "escaped")],
    ["json-ascii", "compact, with \\u escapes", writeJson(compact, "escaped")],
    [
      "json-slashes",
      "compact, with \\/ and \\u escapes, as PHP's json_encode does",
      writeJson(compact.replaceAll("/", "\\/"), "escaped"),
    ],
    ["json-indented", "indented by 2", JSON.stringify(document, null, 2)],
    ["json-indented", "indented by 4", JSON.stringify(document, null, 4)],
    ["json-twice", "a JSON text in a JSON text", JSON.stringify(text)],
  ] as const;
  return styles.map(([code, style, value]) => [
    code,
    `The JSON was signed in another form (${style}). Sign and verify the raw bytes, before any parsing.`,
    value,
  ]);
}
