import { createHash } from "node:crypto";
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { isSecretName } from "../api/secrets.ts";
import { tryParseJson } from "../base/object.ts";
import { headerOf, type Message, type RecordedExchange } from "./exchange.ts";
import { editMarkup } from "./fields.ts";
import { type TextKind, TextSanitizer } from "./sanitize-text.ts";
import { createStandInFile, StandIns } from "./stand-ins.ts";
import { getVocabulary } from "./vocabulary.ts";

/** Headers of one connection, or that say what program sent them. */
const dropped =
  /^(?:connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|proxy-.*|content-length|content-encoding|accept-encoding|user-agent|via|forwarded|x-forwarded-.*|x-real-ip|sec-.*|dnt|server|alt-svc|cf-.*|x-amzn-.*|x-cache.*|nel|report-to)$/;

/** Headers whose values are words of protocols. */
const plain =
  /^(?:accept|accept-language|accept-ranges|age|allow|cache-control|content-type|content-language|date|expires|last-modified|pragma|retry-after|vary|host|origin-agent-cluster|x-content-type-options|x-frame-options|referrer-policy|strict-transport-security|content-security-policy|access-control-.*|x-svc-time|x-svc-matched|x-svc-nearest|x-svc-unchanged|x-ratelimit-.*|ratelimit-.*)$/;

/** Replaces secrets and personal data in whole exchanges. One for each corpus, so that stand-ins are consistent. */
export class ExchangeSanitizer {
  readonly #standIns: StandIns;
  readonly #text: TextSanitizer;

  constructor(standIns = new StandIns()) {
    this.#standIns = standIns;
    this.#text = new TextSanitizer(standIns);
  }

  exchange(exchange: RecordedExchange): RecordedExchange {
    const { request, response } = exchange;
    // Requests first: errors quote what they hold.
    const target = this.#text.url(request.target);
    const sent = this.#message(request, "value");
    const received = this.#message(response, response.status >= 400 ? "wording" : "value");
    return { ...exchange, request: { ...request, target, ...sent }, response: { ...response, ...received } };
  }

  #message(message: Message, kind: TextKind): Message {
    const headers = message.headers.filter(([name]) => !dropped.test(name.toLowerCase()));
    const made = headers.map(([name, value]): [string, string] => [name, this.#header(name.toLowerCase(), value)]);
    const body = this.#body(decodeContent(message), headerOf(message, "content-type") ?? "", kind);
    const md5 = () => createHash("md5").update(body).digest("base64");
    return { headers: made.map(([name, value]) => [name, name.toLowerCase() === "content-md5" ? md5() : value]), body };
  }

  #header(name: string, value: string): string {
    if (name === "host")
      return /^(?:localhost|127\.|\[::1\])/.test(value) ? value : this.#standIns.host(value.replace(/:\d+$/, ""));
    if (name === "authorization" || name === "www-authenticate") return this.#credentials(value);
    if (name === "cookie" || name === "set-cookie") return this.#cookies(value);
    if (name === "content-disposition")
      return value.replace(
        /(filename\*?=)("?)([^";]*)/g,
        (_, start: string, quote: string, file: string) => start + quote + this.#fileName(file),
      );
    if (
      name === "location" ||
      name === "content-location" ||
      name === "referer" ||
      name === "origin" ||
      name === "link"
    )
      return this.#text.url(value);
    if (plain.test(name)) return value;
    if (isSecretName(name) || /^client-id$|request-id|etag|if-(?:none-)?match|content-hash/.test(name))
      return this.#text.secret(value);
    return this.#text.parameter(name, value);
  }

  #fileName(file: string): string {
    const [, encoding = "", name = "", extension = ""] = /^([\w-]+''|)(.*?)(\.\w{1,5})?$/s.exec(file) ?? [];
    return (
      encoding +
      this.#text
        .text(decodeURIComponent(name.replace(/%(?![0-9a-f]{2})/gi, "%25")), "value")
        .replaceAll(" ", encoding ? "%20" : " ") +
      extension
    );
  }

  #credentials(value: string): string {
    const [, scheme, rest] = /^([A-Za-z0-9-]{1,40}) (.+)$/.exec(value) ?? [];
    if (scheme === undefined || rest === undefined) return this.#text.secret(value);
    if (/=/.test(rest) && !/^[\w+/=-]+$/.test(rest))
      return `${scheme} ${rest.replace(credentialPattern, (_, name: string, quoted?: string, plain?: string) => {
        const made = this.#credential(name, quoted ?? plain ?? "");
        return `${name}=${quoted === undefined ? made : `"${made}"`}`;
      })}`;
    const pair = scheme.toLowerCase() === "basic" ? Buffer.from(rest, "base64").toString() : "";
    const colon = pair.indexOf(":");
    if (colon < 0) return `${scheme} ${this.#text.secret(rest)}`;
    const standIn = `${this.#text.secret(pair.slice(0, colon))}:${this.#text.secret(pair.slice(colon + 1))}`;
    return `${scheme} ${Buffer.from(standIn).toString("base64")}`;
  }

  #credential(name: string, value: string): string {
    if (name === "realm") return isKnownRealm(value) ? value : this.#text.secret(value);
    if (/^(?:error|error_description|scope|charset|algorithm)$/.test(name)) return this.#text.text(value, "wording");
    return value === "" ? value : this.#text.secret(value);
  }

  #cookies(value: string): string {
    const isAttribute = /^(?:path|domain|expires|max-age|samesite|secure|httponly|partitioned)$/i;
    return value
      .split(/(;\s*)/)
      .map((part) => {
        const equals = part.indexOf("=");
        if (equals < 0) return part;
        const name = part.slice(0, equals);
        return isAttribute.test(name.trim()) && !/domain/i.test(name)
          ? part
          : `${name}=${this.#text.secret(part.slice(equals + 1))}`;
      })
      .join("");
  }

  #body(body: Buffer, contentType: string, kind: TextKind): Buffer {
    if (body.length === 0) return body;
    const text = body.toString("utf8");
    const isText = Buffer.from(text).equals(body);
    const boundary = findBoundary(contentType);
    if (boundary !== undefined) {
      return sanitizeMultipart(body, boundary, {
        value: (name, value) => this.#text.parameter(name, value),
        file: (file) =>
          isJson(file)
            ? Buffer.from(this.#text.json(file.toString(), "value"))
            : (createStandInFile(file, this.#standIns) ?? file),
        fileName: (name) => this.#fileName(name),
      });
    }
    if (!isText) return createStandInFile(body, this.#standIns) ?? body;
    if (/x-www-form-urlencoded/i.test(contentType)) return Buffer.from(this.#text.pairs(text));
    if (tryParseJson(text) !== undefined) return Buffer.from(this.#text.json(text, kind));
    if (/^%PDF-/.test(text)) return createStandInFile(body, this.#standIns) ?? body;
    // Pages, XML and text: whatever has not the form of JSON is wording with values in it.
    const isFile = /octet-stream|officedocument|msword|csv/i.test(contentType);
    if (isFile) return createStandInFile(body, this.#standIns) ?? body;
    const lines = text.split("\n");
    const isLineOfJson = (line: string) => /^[[{]/.test(line) && tryParseJson(line) !== undefined;
    if (!lines.some(isLineOfJson)) return Buffer.from(this.#markup(text, kind));
    const made = lines.map((line) => (isLineOfJson(line) ? this.#text.json(line, kind) : this.#markup(line, kind)));
    return Buffer.from(made.join("\n"));
  }

  /** A page, XML or plain text: tags stay, what their attributes and texts say is replaced. */
  #markup(text: string, kind: TextKind): string {
    const byLine = (part: string) =>
      part
        .split("\n")
        .map((line) => this.#text.text(line, kind))
        .join("\n");
    return editMarkup(text, {
      text: byLine,
      element: (name, value) => this.#text.hide(name, value, kind) ?? byLine(value),
      attribute: (name, value) =>
        this.#text.hide(name, value, kind) ??
        (/^(?:value|content|href|src|action|title|alt|placeholder|data-.*)$/.test(name)
          ? this.#text.text(value, "value")
          : value),
    });
  }
}

/** `name="value"` and `name=value` of a challenge or of credentials. */
const credentialPattern = /(?<![\w-])([\w-]+)=(?:"([^"]{0,2000})"|([^\s",]+))/g;

/** A realm that the declarations have. */
export const isKnownRealm = (realm: string): boolean => getVocabulary().words.has(realm.toLowerCase());

/** What separates the parts of a multipart body. */
export const findBoundary = (contentType: string): string | undefined =>
  /^multipart\/.*boundary="?([^";]+)"?/i.exec(contentType)?.[1];

const isJson = (body: Buffer): boolean =>
  /^\s*[[{]/.test(body.subarray(0, 20).toString()) && tryParseJson(body.toString()) !== undefined;

const maxDecodedBytes = { maxOutputLength: 64 * 1024 * 1024 };

/** The body without its content encoding; one that cannot be decoded stays as it is. */
function decodeContent(message: Message): Buffer {
  const encoding = headerOf(message, "content-encoding")?.toLowerCase();
  try {
    if (encoding === "gzip") return gunzipSync(message.body, maxDecodedBytes);
    if (encoding === "deflate") return inflateSync(message.body, maxDecodedBytes);
    if (encoding === "br") return brotliDecompressSync(message.body, maxDecodedBytes);
  } catch {
    return message.body;
  }
  return message.body;
}

/** Treatment of the parts of a form. */
interface MultipartEdits {
  readonly value: (name: string, value: string) => string;
  readonly file: (bytes: Buffer) => Buffer;
  readonly fileName: (name: string) => string;
}

/** A part of a multipart body. */
interface Part {
  readonly head: string;
  readonly body: Buffer;
}

/** Replaces values, files and their names in a multipart body; all else is untouched. */
function sanitizeMultipart(body: Buffer, boundary: string, edits: MultipartEdits): Buffer {
  const parts = splitMultipart(body, boundary);
  const pieces = parts.map(({ head, body: content }) => {
    const name = /\bname="([^"]*)"/i.exec(head)?.[1] ?? "";
    const isFile = /\bfilename\*?=/i.test(head);
    const shown = head.replace(
      /(filename\*?=)("?)([^";\r\n]*)/gi,
      (_, start: string, quote: string, file: string) => `${start}${quote}${edits.fileName(file)}`,
    );
    const text = content.toString("utf8");
    const isText = Buffer.from(text).equals(content);
    const made = isFile || !isText ? edits.file(content) : Buffer.from(edits.value(name, text));
    return Buffer.concat([Buffer.from(`--${boundary}\r\n${shown}\r\n\r\n`), made, Buffer.from("\r\n")]);
  });
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
}

/** The parts of a multipart body. */
export function splitMultipart(body: Buffer, boundary: string): Part[] {
  const mark = Buffer.from(`--${boundary}`);
  const parts: Part[] = [];
  let at = body.indexOf(mark);
  while (at >= 0) {
    const next = body.indexOf(mark, at + mark.length);
    if (next < 0) break;
    const whole = body.subarray(at + mark.length + 2, next - 2);
    const split = whole.indexOf("\r\n\r\n");
    if (split >= 0) parts.push({ head: whole.subarray(0, split).toString("utf8"), body: whole.subarray(split + 4) });
    at = next;
  }
  return parts;
}
