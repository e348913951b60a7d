import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { isSecretName } from "../api/secrets.ts";
import { decodeContent, parseContentCodings } from "../base/content-codings.ts";
import { tryParseJson } from "../base/object.ts";
import { decodeUrlPart } from "../base/urls.ts";
import { isSignatureHeader } from "../schemes/webhook-schemes.ts";
import { getHeader, type HttpMessage, type RecordedExchange } from "./exchange.ts";
import { editMarkup, type FieldLocation, getVocabulary } from "./fields.ts";
import { TextSanitizer } from "./sanitize-text.ts";
import type { StandIns } from "./stand-ins.ts";

/** Headers of one connection, and headers that identify the sending program. */
const droppedHeaderPattern =
  /^(?:connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|proxy-.*|content-length|content-encoding|accept-encoding|user-agent|via|forwarded|x-forwarded-.*|x-real-ip|sec-.*|dnt|server|alt-svc|cf-.*|x-amzn-.*|x-cache.*|nel|report-to)$/;

/** Headers whose values are protocol keywords. */
const plainHeaderPattern =
  /^(?:accept|accept-language|accept-ranges|age|allow|cache-control|content-type|content-language|date|expires|last-modified|pragma|retry-after|vary|host|origin-agent-cluster|x-content-type-options|x-frame-options|referrer-policy|strict-transport-security|content-security-policy|access-control-.*|x-svc-time|x-svc-matched|x-svc-nearest|x-svc-unchanged|x-ratelimit-.*|ratelimit-.*)$/;

/**
 * Replaces secrets and personal data in exchanges. Stand-ins are consistent within one sanitizer, so a corpus needs
 * exactly one.
 */
export class ExchangeSanitizer {
  readonly #standIns: StandIns;
  readonly #text: TextSanitizer;

  constructor(standIns: StandIns) {
    this.#standIns = standIns;
    this.#text = new TextSanitizer(standIns);
  }

  sanitizeExchange(exchange: RecordedExchange): RecordedExchange {
    const { request, response } = exchange;
    // Requests are sanitized first, because errors quote their values.
    const target = this.#sanitizeTarget(request.target);
    const sent = this.#sanitizeMessage("request", request, "field");
    const received = this.#sanitizeMessage("response", response, response.status >= 400 ? "error" : "field");
    return { ...exchange, request: { ...request, target, ...sent }, response: { ...response, ...received } };
  }

  #sanitizeTarget(target: string): string {
    const [path = "", query] = target.split(/\?(.*)/s);
    this.#standIns.place = "path";
    const sanitized = this.#text.sanitizeUrl(path);
    this.#standIns.place = "query";
    return query === undefined ? sanitized : `${sanitized}?${this.#text.sanitizePairs(query)}`;
  }

  #sanitizeMessage(side: "request" | "response", message: HttpMessage, location: FieldLocation): HttpMessage {
    this.#standIns.place = `${side} body`;
    const codings = parseContentCodings(getHeader(message, "content-encoding") ?? "");
    const decoded = decodeContent(message.body, codings, maxDecodedBytes) ?? message.body;
    const body = this.#sanitizeBody(decoded, getHeader(message, "content-type") ?? "", location);
    const headers = message.headers.flatMap(([name, value]): [string, string][] => {
      const lower = name.toLowerCase();
      if (!this.#standIns.isScan && droppedHeaderPattern.test(lower)) return [];
      this.#standIns.place = `${side} header ${name}`;
      const isDigest = lower === "content-md5";
      return [[name, isDigest ? createHash("md5").update(body).digest("base64") : this.#sanitizeHeader(lower, value)]];
    });
    return { headers, body };
  }

  #sanitizeHeader(name: string, value: string): string {
    if (name === "host")
      return /^(?:localhost|127\.|\[::1\])/.test(value) ? value : this.#standIns.createHost(value.replace(/:\d+$/, ""));
    if (name === "authorization" || name === "www-authenticate") return this.#sanitizeCredentials(value);
    if (name === "cookie" || name === "set-cookie") return this.#sanitizeCookies(value);
    if (name === "content-disposition") return this.#sanitizeFileNames(value);
    if (/^(?:(?:content-)?location|referer|origin|link)$/.test(name)) return this.#text.sanitizeUrl(value);
    if (plainHeaderPattern.test(name)) return value;
    if (isSecretName(name) || /^client-id$|request-id|etag|if-(?:none-)?match/.test(name) || isSignatureHeader(name))
      return this.#text.replaceSecret(value);
    return this.#text.sanitizeNamed(name, value, "parameter");
  }

  #sanitizeFileNames(text: string): string {
    return text.replace(
      /(filename\*?=)("?)([^";\r\n]*)/gi,
      (_, start: string, quote: string, file: string) => start + quote + this.#sanitizeFileName(file),
    );
  }

  #sanitizeFileName(file: string): string {
    const [, encoding = "", name = "", extension = ""] = /^([\w-]+''|)(.*?)(\.\w{1,5})?$/s.exec(file) ?? [];
    const plain = decodeUrlPart(name);
    // The end of an e-mail address is not an extension.
    const [stem, end] = plain.includes("@") ? [plain + extension, ""] : [plain, extension];
    const sanitized = this.#text.sanitizeText(stem, "field");
    return encoding + (encoding === "" ? sanitized : sanitized.replaceAll(" ", "%20")) + end;
  }

  #sanitizeCredentials(value: string): string {
    const [, scheme, rest] = /^([A-Za-z0-9-]{1,40}) (.+)$/.exec(value) ?? [];
    if (scheme === undefined || rest === undefined) return this.#text.replaceSecret(value);
    if (/=/.test(rest) && !/^[\w+/=-]+$/.test(rest))
      return `${scheme} ${rest.replace(credentialPattern, (_, name: string, quoted?: string, plain?: string) => {
        const sanitized = this.#sanitizeCredential(name, quoted ?? plain ?? "");
        return `${name}=${quoted === undefined ? sanitized : `"${sanitized}"`}`;
      })}`;
    const isBasic = scheme.toLowerCase() === "basic" && !this.#standIns.isOwn(rest);
    const pair = isBasic ? Buffer.from(rest, "base64").toString() : "";
    const colon = pair.indexOf(":");
    if (colon < 0) return `${scheme} ${this.#text.replaceSecret(rest)}`;
    const standIn = `${this.#text.replaceSecret(pair.slice(0, colon))}:${this.#text.replaceSecret(pair.slice(colon + 1))}`;
    return `${scheme} ${Buffer.from(standIn).toString("base64")}`;
  }

  #sanitizeCredential(name: string, value: string): string {
    const isKnownRealm = name === "realm" && getVocabulary().words.has(value.toLowerCase());
    if (value === "" || isKnownRealm) return value;
    if (/^(?:error|error_description|scope|charset|algorithm)$/.test(name))
      return this.#text.sanitizeText(value, "error");
    return this.#text.replaceSecret(value);
  }

  #sanitizeCookies(value: string): string {
    const cookies = value.split(";").map((cookie) => {
      // A cookie can have no name: `Set-Cookie: value; Secure`.
      const [, name = "", secret = ""] = /^(\s*(?:[^=]*=)?)(.*)$/s.exec(cookie) ?? [];
      return secret === "" || cookieAttributePattern.test(cookie) ? cookie : name + this.#text.replaceSecret(secret);
    });
    return cookies.join(";");
  }

  #sanitizeBody(body: Buffer, contentType: string, location: FieldLocation): Buffer {
    if (body.length === 0) return body;
    const boundary = /^multipart\/.*boundary="?([^";]+)"?/i.exec(contentType)?.[1];
    if (boundary !== undefined) return this.#sanitizeMultipart(body, boundary);
    if (!isUtf8(body)) return this.#standIns.createFile(body);
    const text = body.toString("utf8");
    if (/x-www-form-urlencoded/i.test(contentType)) return Buffer.from(this.#text.sanitizePairs(text));
    if (tryParseJson(text) !== undefined) return Buffer.from(this.#text.sanitizeJson(text, location));
    if (/^%PDF-/.test(text) || /octet-stream|officedocument|msword|csv/i.test(contentType))
      return this.#standIns.createFile(body);
    return Buffer.from(this.#sanitizeLines(text, location));
  }

  /** Sanitizes lines of JSON (NDJSON, event streams). Other content is text with values, such as HTML and XML. */
  #sanitizeLines(text: string, location: FieldLocation): string {
    let sanitized = "";
    let at = 0;
    for (const { 0: line, index } of text.matchAll(/(?<=^(?:data: ?)?)[[{].*$/gm)) {
      if (tryParseJson(line) === undefined) continue;
      sanitized += this.#sanitizeMarkup(text.slice(at, index), location) + this.#text.sanitizeJson(line, location);
      at = index + line.length;
    }
    return sanitized + this.#sanitizeMarkup(text.slice(at), location);
  }

  /** Replaces values, files and file names in a multipart body. Preserves the remaining bytes. */
  #sanitizeMultipart(body: Buffer, boundary: string): Buffer {
    const pieces = splitMultipart(body, boundary).map(({ head, body: content }) => {
      const name = /\bname="([^"]*)"/i.exec(head)?.[1] ?? "";
      const text = content.toString("utf8");
      const isFile = /\bfilename\*?=/i.test(head) || !isUtf8(content);
      const sanitized = !isFile
        ? this.#text.sanitizeParameter(name, text)
        : /^\s*[[{]/.test(text) && tryParseJson(text) !== undefined
          ? this.#text.sanitizeJson(text, "field")
          : this.#standIns.createFile(content);
      const start = Buffer.from(`--${boundary}\r\n${this.#sanitizeFileNames(head)}\r\n\r\n`);
      return Buffer.concat([start, Buffer.from(sanitized), Buffer.from("\r\n")]);
    });
    return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
  }

  /** Sanitizes HTML, XML or plain text. Preserves tags and replaces values in attributes and texts. */
  #sanitizeMarkup(text: string, location: FieldLocation): string {
    const sanitizeByLine = (part: string) =>
      part
        .split("\n")
        .map((line) => this.#text.sanitizeText(line, location))
        .join("\n");
    const sanitizePart = (name: string, value: string, sanitize: (value: string) => string) =>
      this.#standIns.within(name, () => this.#text.sanitizeHidden(name, value, location) ?? sanitize(value));
    return editMarkup(text, {
      editText: sanitizeByLine,
      editElement: (name, value) => sanitizePart(name, value, sanitizeByLine),
      editAttribute: (name, value) =>
        sanitizePart(name, value, (other) =>
          this.#text.sanitizeText(other, contentAttributePattern.test(name) ? "field" : "error"),
        ),
    });
  }
}

const cookieAttributePattern = /^\s*(?:(?:path|expires|max-age|samesite)=.*|secure|httponly|partitioned)\s*$/is;

/** Attributes of markup that contain values. The words of other attributes are preserved if possible. */
const contentAttributePattern = /^(?:value|content|href|src|action|title|alt|placeholder|data-.*)$/;

/** Parameters `name="value"` and `name=value` of a challenge or of credentials. */
const credentialPattern = /(?<![\w-])([\w-]+)=(?:"([^"]{0,2000})"|([^\s",]+))/g;

const maxDecodedBytes = 64 * 1024 * 1024;

function splitMultipart(body: Buffer, boundary: string): { readonly head: string; readonly body: Buffer }[] {
  const mark = Buffer.from(`--${boundary}`);
  const parts: ReturnType<typeof splitMultipart> = [];
  let at = body.indexOf(mark);
  while (at >= 0) {
    const next = body.indexOf(mark, at + mark.length);
    if (next < 0) break;
    const partBytes = body.subarray(at + mark.length + 2, next - 2);
    const split = partBytes.indexOf("\r\n\r\n");
    if (split >= 0)
      parts.push({ head: partBytes.subarray(0, split).toString("utf8"), body: partBytes.subarray(split + 4) });
    at = next;
  }
  return parts;
}
