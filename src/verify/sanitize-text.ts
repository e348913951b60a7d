import { isUtf8 } from "node:buffer";
import { tryParseJson } from "../base/object.ts";
import { trimTrailing } from "../base/text.ts";
import { decodeUrlPart } from "../base/urls.ts";
import {
  editFields,
  type FieldLocation,
  findPersonalKind,
  getVocabulary,
  isIdentifier,
  isoTimePattern,
  isRandomLooking,
  isSecretFieldName,
  isSecretValue,
  isSentence,
  mediaTypePattern,
} from "./fields.ts";
import { editJson } from "./json-edit.ts";
import { isStandInEmail, isStandInPhone, isStandInWord, type StandIns, type TextKind } from "./stand-ins.ts";

const emailPattern =
  /(?<![\p{L}\p{N}._%+'-])[\p{L}\p{N}._%+'-]+(?:@|%40)[\p{L}\p{N}-]{1,63}(?:\.[\p{L}\p{N}-]{1,63}){1,8}/gu;
const jwtPattern = /(?<![\w.-])eyJ[\w-]+\.[\w-]+\.[\w-]*/g;
/** Tokens with an ordinary word in them, such as `Bearer DEMO12345`. */
const bearerTokenPattern = /(?<=\bbearer\s{1,3})(?=\S*\d)[\w+/=~.-]{8,}/gi;
const uuidPattern = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi;
const phonePattern = /(?<![\w.:-])\+?\(?\d[\d ()./-]{6,24}\d(?![\w:-])/g;
const urlPattern = /\b[a-z][a-z+]{1,20}:\/\/[^\s"'<>]+/g;
/** URLs of the web, and other URLs with credentials, such as those of databases. */
const privateUrlPattern = /^(?:[a-z+]*https?:|[^/]+\/\/[^/]*@)/;
const longTokenPattern = /[A-Za-z0-9+/_=~.-]{16,}/g;
const standInTokenPattern = /\b(?:safe|5afe)[\w+/=-]+/g;
const isoTimesPattern = /\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?/g;
const compositeIdPattern = /^[A-Z]{1,5}-\d{1,12}$/;
const nameFieldPattern =
  /(^|_)(?:name|first_?name|last_?name|full_?name|display_?name|given_?name|family_?name|person|author|signer|signatory|recipient|contact|nickname)$/i;
const personFieldPattern = /(?:^|_)(?:first|last|full|given|family|middle|nick)_?name$/i;
const constantFieldPattern = /(?:^|_)(?:kind|type|status|mode|level|source|event|activity|action|format|state)$/i;
/** Names of fields that are secret even if their value is a number. */
const numericSecretPattern = /^(?:tax_id|.*_token|user_code)$/i;
/** Words before a login in an error message. */
const beforeLoginPattern =
  /(?<![\w-])(?:user|username|login|account|customer|person|employee|signer|recipient)\s{1,3}["'“(]?$/i;

/** Replaces personal data and secrets in strings. */
export class TextSanitizer {
  readonly #standIns: StandIns;
  readonly #vocabulary = getVocabulary();

  constructor(standIns: StandIns) {
    this.#standIns = standIns;
  }

  sanitizeParameter(name: string, value: string): string {
    return this.#standIns.within(name, () => this.sanitizeNamed(name, value, "parameter"));
  }

  sanitizeNamed(name: string, value: string, location: FieldLocation): string {
    const hidden = this.sanitizeHidden(name, value, location);
    if (hidden !== undefined) return hidden;
    if (value === "" || this.#isPublic(value)) return value;
    if (isIdentifier(name, value) || (constantFieldPattern.test(name) && /^[A-Z]+(?:_[A-Z0-9]+)*$/.test(value)))
      return value;
    if (personFieldPattern.test(name))
      for (const word of value.match(/\p{L}[\p{L}\p{M}'’]*/gu) ?? []) {
        this.#standIns.names.add(word);
        this.#standIns.people.add(word.toLowerCase());
      }
    return this.sanitizeText(value, location !== "error" && nameFieldPattern.test(name) ? "name" : location);
  }

  /** Replaces the whole value if the name of the field shows that it is secret. Returns undefined otherwise. */
  sanitizeHidden(name: string, value: string, location: FieldLocation): string | undefined {
    if (isSecretValue(name, value, location)) return this.replaceSecret(value);
    const kind = findPersonalKind(name, value);
    if (kind === "phone") return isStandInPhone(value) ? value : this.#standIns.createPhone(value.replace(/\D/g, ""));
    if (kind === "date") return this.#standIns.createDate(value);
    return kind && this.#standIns.createNumber(value, kind);
  }

  /** Replaces a secret value. The structure of tokens and URLs stays readable. */
  replaceSecret(value: string): string {
    if (this.#standIns.isOwn(value)) return value;
    if (value.startsWith("eyJ") && value.split(".").length === 3) return this.#sanitizeJwt(value);
    if (/^https?:\/\//.test(value)) return this.sanitizeUrl(value);
    return this.#standIns.createToken(value, "secret");
  }

  #isPublic(value: string): boolean {
    return (
      // Another spelling of a declared value is a difference that a replay has to report.
      this.#vocabulary.values.has(value.toUpperCase().replaceAll(/[ -]/g, "_")) ||
      isoTimePattern.test(value) ||
      mediaTypePattern.test(value) ||
      compositeIdPattern.test(value) ||
      /^-?\d{1,9}(?:\.\d{1,4})?$/.test(value) ||
      /^(?:true|false|null|[A-Z]{2,3})$/.test(value)
    );
  }

  /** Sanitizes a string of any kind: JSON, base64, URLs, addresses, tokens and words. */
  sanitizeText(value: string, kind: TextKind): string {
    if (value === "" || this.#isPublic(value)) return value;
    const trimmed = value.trim();
    if (/^[[{]/.test(trimmed) && tryParseJson(trimmed) !== undefined)
      return this.sanitizeJson(value, kind === "error" ? kind : "field");
    const known = this.#standIns.secrets.get(value);
    if (known !== undefined) return known;
    if (this.#standIns.isOwn(value)) return value;
    const decoded = decodeBase64(value);
    if (decoded !== undefined) return this.#sanitizeBase64(decoded, value);
    const found: string[] = [];
    // Placeholders prevent that replaced parts are replaced again.
    const setAside = (text: string): string => `\ue000${found.push(text) - 1}\ue001`;
    const s = this.#standIns;
    // URLs are replaced first, because their parts must not contain placeholders.
    const withoutUrls = value
      .replace(/[\ue000\ue001]/g, "")
      .replace(urlPattern, (url) => (privateUrlPattern.test(url) ? setAside(this.sanitizeUrl(url)) : url));
    const marked = [...s.secrets].reduce(
      (text, [secret, standIn]) =>
        secret.length >= 8 && text.includes(secret) ? text.replaceAll(secret, setAside(standIn)) : text,
      withoutUrls,
    );
    const plain = editFields(marked, (name, inner, location) => {
      if (/^\ue000\d+\ue001$/.test(inner) || (location === "error" && kind === "error" && isSentence(name, inner)))
        return undefined;
      const hidden = s.within(name, () => this.sanitizeHidden(name, inner, location));
      return hidden === undefined ? undefined : setAside(hidden);
    })
      .replace(jwtPattern, (jwt) => setAside(this.#sanitizeJwt(jwt)))
      .replace(bearerTokenPattern, (token) => setAside(this.replaceSecret(token)))
      .replace(emailPattern, (email) => setAside(this.#sanitizeEmail(email)))
      .replace(/[A-Z][A-Z0-9_]+/g, (word) => (this.#vocabulary.values.has(word) ? setAside(word) : word))
      .replace(uuidPattern, (uuid) => setAside(s.isOwn(uuid) ? uuid : s.createToken(uuid)))
      .replace(isoTimesPattern, (time) => setAside(time))
      .replace(longTokenPattern, (long) => this.#sanitizeLong(long, setAside))
      .replace(phonePattern, (phone) =>
        setAside(isStandInPhone(phone) ? phone : s.createPhone(phone.replace(/\D/g, ""))),
      )
      .replace(/\+1555\d{7}/g, (phone) => setAside(phone))
      .replace(standInTokenPattern, (token) => (s.isOwn(token) ? setAside(token) : token));
    const worded = this.#sanitizeWords(plain, kind);
    return restorePlaceholders(worded, found);
  }

  #sanitizeEmail(email: string): string {
    const address = decodeUrlPart(email);
    if (isStandInEmail(address)) return email;
    const standIn = this.#standIns.createEmail(address);
    return email.includes("@") ? standIn : encodeURIComponent(standIn);
  }

  #sanitizeLong(text: string, aside: (text: string) => string): string {
    if (this.#standIns.isOwn(text)) return aside(text);
    if (!isRandomLooking(text)) return text;
    const decoded = decodeBase64(text);
    return aside(decoded === undefined ? this.#standIns.createToken(text) : this.#sanitizeBase64(decoded, text));
  }

  #sanitizeWords(text: string, kind: TextKind): string {
    return text.replace(
      /(\ue000\d+\ue001)|\p{L}[\p{L}\p{M}]*(?:['’]\p{L}+)*|\d{6,}/gu,
      (word, aside: string | undefined, at: number) => {
        if (aside !== undefined || isStandInWord(word)) return word;
        if (/^\d/.test(word)) return this.#standIns.createNumber(word);
        const isLogin =
          kind === "error" &&
          !/['’]/.test(word) &&
          !this.#vocabulary.words.has(word.toLowerCase()) &&
          beforeLoginPattern.test(text.slice(Math.max(0, at - 20), at));
        return isLogin || this.#isPrivate(word, kind, isSentenceStart(text, at))
          ? this.#standIns.createWord(word, kind)
          : word;
      },
    );
  }

  #isPrivate(word: string, kind: TextKind, startsSentence: boolean): boolean {
    const { names, words } = this.#standIns;
    const isCommon = this.#vocabulary.words.has(word.toLowerCase());
    if (names.has(word)) return kind !== "error" || !isCommon || !startsSentence;
    if (word.length === 1) return false;
    if (kind !== "error") {
      // A word gets the same treatment everywhere, because services combine names.
      if (isCommon && !/^\p{Lu}/u.test(word)) return false;
      if (!isCommon) words.add(word);
      if (kind === "name" && !isCommon) names.add(word);
      return true;
    }
    if (isCommon) return false;
    return words.has(word) || (!startsSentence && /^\p{Lu}/u.test(word));
  }

  /**
   * Sanitizes a URL or a request target. Replaces hosts, unknown segments and values, and preserves declared segments
   * and values.
   */
  sanitizeUrl(url: string): string {
    const [, origin = "", path = "", query, fragment] =
      /^([a-z+]+:\/\/[^/?#]*)?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(url) ?? [];
    const segments = path.split("/").map((segment) => this.#sanitizeSegment(segment));
    return [
      origin && this.#sanitizeOrigin(origin),
      segments.join("/"),
      query === undefined ? "" : `?${this.sanitizePairs(query)}`,
      fragment === undefined
        ? ""
        : `#${/=/.test(fragment) ? this.sanitizePairs(fragment) : this.#sanitizeSegment(fragment)}`,
    ].join("");
  }

  #sanitizeOrigin(origin: string): string {
    const [, scheme = "", credentials, host = "", port = ""] =
      /^([a-z+]+:\/\/)([^@]*@)?(\[[^\]]*\]|[^:]*)(:\d+)?$/.exec(origin) ?? [];
    const isLocal = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$|\.example$|(?:^|\.)example\.(?:com|org|net)$/.test(host);
    const user = credentials === undefined ? "" : `${this.#standIns.createToken(credentials.slice(0, -1), "secret")}@`;
    return `${scheme}${user}${isLocal ? host : this.#standIns.createHost(host)}${port}`;
  }

  #sanitizeSegment(segment: string): string {
    if (this.#vocabulary.segments.has(segment) || segment === "") return segment;
    const plain = decodeUrlPart(segment);
    const sanitized = this.#standIns.secrets.get(plain) ?? this.sanitizeText(plain, "field");
    return sanitized === plain ? segment : encodeURIComponent(sanitized).replaceAll("%40", "@");
  }

  /** Sanitizes `name=value&…`, the format of queries and forms. */
  sanitizePairs(text: string): string {
    return text
      .split("&")
      .map((pair) => {
        const equals = pair.indexOf("=");
        if (equals < 0) return this.#sanitizeSegment(pair);
        const name = pair.slice(0, equals);
        const value = decodeUrlPart(pair.slice(equals + 1).replaceAll("+", " "));
        // A fragment can contain a query: `#/callback?code=…`.
        const bare = decodeUrlPart(name)
          .replace(/^.*[?]/, "")
          .replace(/\[[^[\]]{0,40}\]$/, "");
        const sanitized = this.sanitizeParameter(bare, value);
        const shownName =
          name.includes("@") || name.includes("%40")
            ? encodeURIComponent(this.sanitizeText(decodeUrlPart(name), "field"))
            : name;
        return `${shownName}=${sanitized === value ? pair.slice(equals + 1) : encodeURIComponent(sanitized)}`;
      })
      .join("&");
  }

  /** Sanitizes a JSON text and preserves its formatting. */
  sanitizeJson(text: string, location: FieldLocation): string {
    return editJson(text, {
      editString: ({ isKey, path, name, value }) => {
        // Only the end of a path is shown, because hostile JSON can have a hundred thousand levels.
        const keys = path.slice(-20).filter((key) => key !== "");
        if (!isKey) return this.#standIns.within(keys.join("."), () => this.sanitizeNamed(name, value, location));
        return /^[A-Za-z_$@][\w$.:-]{0,60}$/.test(value) && !isRandomLooking(value)
          ? this.#sanitizeKey(value)
          : this.#standIns.within("key", () => this.sanitizeText(value, "field"));
      },
      editNumber: ({ name, text: number }) => {
        const kind = isSecretFieldName(name) ? "secret" : findPersonalKind(name, number);
        if (kind === undefined && !numericSecretPattern.test(name)) return number;
        return this.#standIns.within(name, () => this.#standIns.createNumber(number, kind));
      },
    });
  }

  /** Replaces known names of people in a key. */
  #sanitizeKey(key: string): string {
    return key.replace(/[A-Z]?[a-z]{2,}|[A-Z]{2,}/g, (word) => {
      const lower = word.toLowerCase();
      return this.#standIns.people.has(lower) && !this.#vocabulary.words.has(lower)
        ? this.#standIns.createWord(word)
        : word;
    });
  }

  #sanitizeJwt(jwt: string): string {
    const [head = "", payload = "", signature = ""] = jwt.split(".");
    const inner = Buffer.from(payload, "base64url").toString();
    const claims = tryParseJson(inner) === undefined ? "{}" : this.sanitizeJson(inner, "field");
    return `${head}.${Buffer.from(claims).toString("base64url")}.${this.#standIns.createToken(signature || "none", "JSON Web Token")}`;
  }

  #sanitizeBase64(decoded: Buffer, original: string): string {
    const text = decoded.toString("utf8");
    const encoding = /[-_]/.test(original) ? "base64url" : "base64";
    if (!isPrintable(decoded)) return this.#standIns.createFile(decoded).toString(encoding);
    // JSON without blanks looks like a user name and a password.
    const pair = tryParseJson(text) === undefined ? /^([^\s:]+):(\S+)$/.exec(text) : null;
    const sanitized = pair
      ? `${this.#standIns.createToken(pair[1]!, "secret")}:${this.#standIns.createToken(pair[2]!, "secret")}`
      : this.sanitizeText(text, "field");
    return sanitized === text ? original : Buffer.from(sanitized).toString(encoding);
  }
}

const isSentenceStart = (text: string, at: number): boolean =>
  /(?:^|[.!?:"'“(])\s{0,3}$/.test(text.slice(Math.max(0, at - 4), at)) || at === 0;

function restorePlaceholders(text: string, found: readonly string[]): string {
  const once = text.replace(/\ue000(\d+)\ue001/g, (_, at: string) => found[Number(at)]!);
  return /\ue000\d+\ue001/.test(once) && once !== text ? restorePlaceholders(once, found) : once;
}

const isPrintable = (bytes: Buffer): boolean => isUtf8(bytes) && !/[^\P{C}\n\r\t]/u.test(bytes.toString("utf8"));

/** Decodes a base64 string that is long enough. Returns undefined for other strings. */
function decodeBase64(text: string): Buffer | undefined {
  if (text.length < 12 || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return undefined;
  if (/^[0-9a-f]+$/i.test(text) || /^[A-Za-z]+$/.test(text) || /^[a-z]+([_-][a-z]+)*$/i.test(text)) return undefined;
  const bytes = Buffer.from(text, "base64");
  if (trimTrailing(bytes.toString("base64"), "=") !== trimTrailing(text.replace(/-/g, "+").replace(/_/g, "/"), "="))
    return undefined;
  return isPrintable(bytes) || bytes.subarray(0, 4).toString() === "%PDF" || bytes.length > 2_000 ? bytes : undefined;
}
