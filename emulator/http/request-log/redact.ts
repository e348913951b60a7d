import type { Operation } from "../../../src/api/operation.ts";
import { registry } from "../../../src/api/registry.ts";
import { decodeUrlText, isSecretName, redactText, redactUrl, secretPathPrefixes } from "../../../src/api/secrets.ts";
import { memoize } from "../../../src/base/object.ts";

/** Other headers are shown only by name, because their values can be credentials or signatures. */
const visibleHeaders: ReadonlySet<string> = new Set([
  ...["accept", "accept-charset", "accept-encoding", "accept-language", "dnt", "expect", "priority", "range"],
  ...["user-agent", "origin", "referer", "upgrade-insecure-requests"],
  ...["content-encoding", "content-length", "content-type", "date", "te", "trailer", "transfer-encoding"],
  ...["cache-control", "if-match", "if-modified-since", "if-none-match", "if-unmodified-since", "pragma"],
  ...["access-control-request-headers", "access-control-request-method"],
  ...["sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform", "sec-gpc"],
  ...["sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "sec-fetch-user"],
  ...["connection", "host", "keep-alive", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"],
  ...["user-email", "x-cluster-id", "x-request-id"],
]);

const mask = "[redacted]";
const operations: readonly Operation[] = registry;

/** Returns the headers by lower-case name, without secrets. */
export function redactHeaders(rawHeaders: readonly string[]): Record<string, string> {
  const redacted: Record<string, string> = Object.create(null);
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    const input = rawHeaders[i + 1]!;
    const value = !visibleHeaders.has(name)
      ? mask
      : name === "referer"
        ? redactUrl(input, { mask, allParameters: true })
        : redactText(input);
    redacted[name] = redacted[name] === undefined || value === mask ? value : `${redacted[name]}, ${value}`;
  }
  return redacted;
}

/** Returns `name: value` of a scripted fault without the value of a secret name and without credentials. */
export const redactHeaderLine = (line: string): string =>
  redactText(
    line.replace(/^([^:]*)(: ?).+$/s, (visible, name: string, colon: string) =>
      isSecretName(name) ? `${name}${colon}${mask}` : visible,
    ),
  );

/** Headers of a webhook, whatever their names, often authenticate its sender. */
const isSecretField = (name: string): boolean => isSecretName(name) || name === "custom_headers";

/** Returns a JSON body without the values of secret fields and without credentials in its strings. */
export function redactBody(value: unknown, name = ""): unknown {
  if (name === "header" && typeof value === "string") return redactHeaderLine(value);
  if (typeof value === "string") return isSecretField(name) ? mask : redactText(value);
  if (Array.isArray(value)) return value.map((item) => redactBody(item, name));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, redactBody(member, name === "custom_headers" ? name : key)]),
  );
}

/**
 * Returns the target of a request without secrets. In a query, only declared parameters keep their values. In an
 * unknown path, segments that resemble secrets are removed. Tokens and keys of the emulator are always removed.
 * `operation` is the ID of the operation, or undefined if no operation is declared.
 */
export function redactTarget(target: string, operation: string | undefined): string {
  const declaration = operations.find(({ id }) => id === operation && id !== "catch-all");
  const declaredNames = declaration && getDeclaredNames(declaration);
  const [, path = "", query = ""] = /^([^?#]*)(\?[^#]*)?/s.exec(redactUrl(target)) ?? [];
  return redactPath(path, declaredNames) + redactQuery(query, declaredNames);
}

/** Returns the URL of a receiver with the names of its parameters and without tokens in its path. */
export function redactReceiverUrl(url: string): string {
  const [, origin = "", path = "", query = ""] =
    /^(\w+:\/\/[^/?#]*)?([^?#]*)(\?[^#]*)?/s.exec(redactUrl(url, { mask, allParameters: true })) ?? [];
  return origin + redactSegments(path, (segment) => !isIssuedSecret(segment, false)) + query;
}

interface DeclaredNames {
  readonly query: ReadonlySet<string>;
  /** True if the path contains a hash of an e-mail address, which resembles a key. */
  readonly hasHash: boolean;
}

const getDeclaredNames = memoize(
  ({ request, path }: Operation): DeclaredNames => ({
    query: new Set(Object.keys(request.query?.shape ?? {}).filter((name) => !isSecretName(name))),
    hasHash: /\{\w*hash\}/.test(path),
  }),
);

function redactPath(path: string, declaredNames: DeclaredNames | undefined): string {
  if (declaredNames) return redactSegments(path, (segment) => !isIssuedSecret(segment, declaredNames.hasHash));
  return redactSegments(
    path,
    (segment, previous) => isPlain(segment) && !isSecretName(previous) && !secretPathPrefixes.has(previous),
  );
}

/** Removes the segments that must not be shown. A slash can be encoded, because the router accepts an encoded slash. */
function redactSegments(path: string, isVisible: (segment: string, previous: string) => boolean): string {
  let previous = "";
  return path
    .split(/(\/|%(?:25)*2f)/i)
    .map((part, i) => {
      if (i % 2 === 1 || part === "" || part === mask) return part;
      const segment = decodeUrlText(part);
      const visiblePart = isVisible(segment, previous) ? part : mask;
      previous = segment.toLowerCase();
      return visiblePart;
    })
    .join("");
}

function redactQuery(query: string, declaredNames: DeclaredNames | undefined): string {
  return query
    .split(/([?&;])/)
    .map((pair, i) => {
      if (i % 2 === 1 || pair === "") return pair;
      const [rawName = "", value] = pair.split(/=(.*)/s);
      // `[$in]` is an operator after a declared name (contract-list.ts).
      const name = decodeUrlText(rawName).replace(/\[\$\w{1,5}\]$/, "");
      if (!declaredNames?.query.has(name)) {
        const visibleName = isPlain(name) ? rawName : mask;
        return value ? `${visibleName}=${mask}` : pair.replace(rawName, () => visibleName);
      }
      return value && value !== mask && isIssuedSecret(decodeUrlText(value), name.includes("hash"))
        ? `${rawName}=${mask}`
        : pair;
    })
    .join("");
}

const uuidPattern = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;
/** Matches numbers, and words in one case or with a capital initial. Tokens mix these forms. */
const wordPattern =
  /^(?:[a-z]{1,20}|[A-Z][a-z]{1,19}|[A-Z]{1,20}|\d{1,12})(?:[-_](?:[a-z]{1,20}|[A-Z][a-z]{1,19}|[A-Z]{1,20}|\d{1,12}))*$/;
/** User codes contain only these characters (device-grant.ts). No word consists of eight of them. */
const userCodePattern = /^[b-df-hj-np-tv-xz]{4}-?[b-df-hj-np-tv-xz]{4}$/i;

/** Issued secrets are user codes or have at least 16 characters of base64url. */
function isIssuedSecret(text: string, mayBeHash: boolean): boolean {
  if (text.length < 8 || uuidPattern.test(text) || (mayBeHash && /^[\da-f]{64}$/i.test(text))) return false;
  if (userCodePattern.test(text)) return true;
  return (
    text.length >= 16 &&
    (text.match(/[\w-]{16,}/g) ?? []).some((word) => !uuidPattern.test(word) && !wordPattern.test(word))
  );
}

const plainPattern =
  /^(?:[a-z]{1,20}(?:[._-][a-z]{1,20}){0,3}|[A-Z][a-z]{1,19}|v\d{1,3}(?:\.\d{1,3})?|\d{1,9}|[A-Z]-\d{1,9})$/;

/** Removes tokens and keys of the emulator from a string. */
export const redactTokens = (text: string): string =>
  text.replace(/[\w-]{16,}/g, (word) => (isIssuedSecret(word, false) ? mask : word));

/** Reports whether a string is a word, a number or an ID, as in paths. */
const isPlain = (text: string): boolean =>
  (plainPattern.test(text) && !userCodePattern.test(text)) || uuidPattern.test(text) || literalSegments.has(text);

const literalSegments: ReadonlySet<string> = new Set(operations.flatMap(({ path }) => path.split("/")));
