import { isUtf8 } from "node:buffer";
import { tryParseJson } from "../base/object.ts";
import type { CorpusExchange, TrafficCorpus } from "./corpus.ts";
import { decodeUrlPart, getHeader, type HttpMessage } from "./exchange.ts";
import {
  editFields,
  editMarkup,
  type FieldLocation,
  findPersonalKind,
  isRandomLooking,
  isSecretFieldName,
  isSecretValue,
  isSentence,
  type PersonalKind,
} from "./fields.ts";
import { editJson } from "./json-edit.ts";
import { findMultipartBoundary, isKnownRealm, splitMultipart } from "./sanitize.ts";
import { emailPattern, jwtPattern } from "./sanitize-text.ts";
import {
  isStandInDate,
  isStandInEmail,
  isStandInFile,
  isStandInNumber,
  isStandInPhone,
  isStandInToken,
  isStandInWord,
} from "./stand-ins.ts";
import { getVocabulary } from "./vocabulary.ts";

/** A possible secret or possible personal data in a corpus. The value is not included. */
interface SensitiveFinding {
  readonly file: string;
  /** Examples: `request body name`, `response header x-token`. */
  readonly place: string;
  readonly kind: string;
  readonly shown: string;
}

const shorten = (text: string): string => `${text.slice(0, 3)}… (${text.length} characters)`;
const nameFieldPattern = /(?:^|_)(?:name|first_name|last_name|full_name|display_name)$/i;

/** Finds possible secrets and personal data in the files of a corpus. */
export const scanCorpus = ({ exchanges }: TrafficCorpus): SensitiveFinding[] => exchanges.flatMap(scanExchange);

function scanExchange({ file, request, response }: CorpusExchange): SensitiveFinding[] {
  const found: SensitiveFinding[] = [];
  scanTarget(request.target);
  scanMessage("request", request, "field");
  scanMessage("response", response, response.status >= 400 ? "error" : "field");
  return found;

  function scanMessage(side: string, message: HttpMessage, errorOrField: FieldLocation): void {
    for (const [name, value] of message.headers) scanHeader(`${side} header ${name}`, name.toLowerCase(), value);
    scanBody(`${side} body`, message, errorOrField);
  }

  function add(position: string, kind: string, text: string): void {
    if (!found.some((item) => item.place === position && item.kind === kind))
      found.push({ file, place: position, kind, shown: shorten(text) });
  }

  function scanTarget(target: string): void {
    const [path = "", query = ""] = target.split(/\?(.*)/s);
    scanText("path", decodeUrlPart(path));
    for (const [name, value] of new URLSearchParams(query)) scanNamed(`query ${name}`, name, value, "parameter");
  }

  function scanHeader(position: string, name: string, value: string): void {
    if (/^(?:content-type|date|x-svc-|accept|content-security-policy|access-control-)/.test(name)) return;
    if (name === "authorization") {
      const rest = value.replace(/^\w+\s+/, "");
      const inner = Buffer.from(rest, "base64").toString();
      if (
        !isStandInToken(rest) &&
        !(inner.includes(":") && inner.split(":").every(isStandInToken)) &&
        !isHarmlessJwt(rest)
      )
        add(position, "secret", rest);
      return;
    }
    const realm = name === "www-authenticate" ? /realm="?([^",]+)/.exec(value)?.[1] : undefined;
    if (realm !== undefined && !isKnownRealm(realm) && !isStandInToken(realm)) add(position, "secret", realm);
    scanNamed(position, name, value, "parameter");
  }

  function scanBody(position: string, message: HttpMessage, errorOrField: FieldLocation): void {
    const { body } = message;
    const type = getHeader(message, "content-type") ?? "";
    const boundary = findMultipartBoundary(type);
    if (boundary !== undefined) {
      for (const { head, body: content } of splitMultipart(body, boundary)) {
        const name = /\bname="([^"]*)"/i.exec(head)?.[1] ?? "";
        scanText(position, head);
        if (/\bfilename\*?=/i.test(head)) scanContent(position, content, errorOrField);
        else scanNamed(`${position} ${name}`, name, content.toString("utf8"), "parameter");
      }
    } else if (/x-www-form-urlencoded/i.test(type)) {
      for (const [name, value] of new URLSearchParams(body.toString("utf8"))) {
        scanText(`${position} key`, name);
        scanNamed(`${position} ${name}`, name, value, "parameter");
      }
    } else scanContent(position, body, errorOrField);
  }

  function scanContent(position: string, body: Buffer, errorOrField: FieldLocation): void {
    if (body.length === 0 || isStandInFile(body)) return;
    const text = body.toString("utf8");
    // A form can contain a binary file, but stand-ins are never binary.
    if (!isUtf8(body)) add(position, "file", text);
    else if (tryParseJson(text) === undefined) {
      const scanPart = (name: string, value: string) => {
        scanNamed(`${position} ${name}`, name, value, errorOrField);
        return value;
      };
      editMarkup(text, {
        editText: (part) => {
          for (const line of part.split("\n")) scanText(position, decodeUrlPart(line), errorOrField);
          return part;
        },
        editElement: scanPart,
        editAttribute: scanPart,
      });
    } else {
      editJson(text, {
        editString: ({ isKey, path, name, value }) => {
          // Only the end of a path is shown, because hostile JSON can have a hundred thousand levels.
          const keys = path.slice(-20).filter((item) => item !== "");
          if (isKey) scanText(`${position} key`, value);
          else scanNamed(`${position} ${keys.join(".")}`, name, value, errorOrField);
          return value;
        },
        editNumber: ({ name, text: number }) => {
          const kind = findPersonalKind(name, number);
          if ((kind !== undefined || isSecretFieldName(name)) && !isStandInNumber(number, kind === "coordinate"))
            add(`${position} ${name}`, isSecretFieldName(name) ? "secret" : findingKinds[kind!], number);
          return number;
        },
      });
    }
  }

  function scanNamed(position: string, name: string, value: string, of: FieldLocation): void {
    if (value === "") return;
    scanHidden(position, name, value, of);
    if (nameFieldPattern.test(name) && !isNameless(value)) add(position, "name", value);
    scanText(position, value, of);
  }

  function scanHidden(position: string, name: string, value: string, of: FieldLocation): void {
    if (isSecretValue(name, value, of)) {
      if (!hasOnlyStandIns(value)) add(position, "secret", value);
      return;
    }
    const kind = findPersonalKind(name, value);
    const isStandIn =
      kind === "phone"
        ? isStandInPhone(value)
        : kind === "date"
          ? isStandInDate(value)
          : isStandInNumber(value, kind === "coordinate");
    if (kind !== undefined && !isStandIn) add(position, findingKinds[kind], value);
  }

  /** Reports whether a name consists of stand-ins, declared values, or lower-case words. */
  function isNameless(value: string): boolean {
    if (getVocabulary().values.has(value)) return true;
    const words = value.replace(/\b(?:safe|5afe)[\w+/=-]*/g, "").match(/\p{L}+/gu) ?? [];
    return words.every(
      (word) => isStandInWord(word) || word.length === 1 || /^\p{Ll}/u.test(word) || word === word.toUpperCase(),
    );
  }

  function scanText(position: string, text: string, around: FieldLocation = "field"): void {
    editFields(text, (name, value, of) => {
      if (around !== "error" || of === "parameter" || !isSentence(name, value))
        scanHidden(`${position} ${name}`, name, value, of);
      return undefined;
    });
    for (const { 0: email, index } of text.matchAll(emailPattern))
      if (!isStandInEmail(email) && !(isStandInToken(email) && text.slice(0, index).endsWith("://")))
        add(position, "e-mail address", email);
    for (const [jwt] of text.matchAll(jwtPattern)) if (!isHarmlessJwt(jwt)) add(position, "JSON Web Token", jwt);
    for (const [phone] of text.matchAll(/(?<![\w.:/-])\+\d[\d ()./-]{6,24}\d(?![\w:-])/g))
      if (!isStandInPhone(phone)) add(position, "phone number", phone);
    for (const { 0: long, index } of text.matchAll(/[A-Za-z0-9+_~-]{16,}/g)) {
      const isParameterName = /[?&]$/.test(text.slice(0, index)) && text[index + long.length] === "=";
      if (
        (isParameterName && !long.split(/[-_]/).some(isRandomLooking)) ||
        isStandInToken(long) ||
        /qx[a-x]{7}/i.test(long) ||
        !isRandomLooking(long) ||
        text.includes(`${long}.`) ||
        isBase64OfStandIns(long)
      )
        continue;
      add(position, "token", long);
    }
  }
}

const findingKinds = {
  phone: "phone number",
  date: "personal data",
  number: "personal data",
  coordinate: "personal data",
} as const satisfies Record<PersonalKind, string>;

const hasOnlyStandIns = (value: string): boolean =>
  isStandInToken(value) || isHarmlessJwt(value) || /^https?:/.test(value) || /(?:safe|5afe|qx[a-x]{7})/i.test(value);

const isHarmlessJwt = (jwt: string): boolean => /^eyJ[\w-]+\.[\w-]+\.(?:safe|5afe)/.test(jwt);

/** Reports whether a base64 string contains only replaced content. */
function isBase64OfStandIns(text: string): boolean {
  const inner = Buffer.from(text, "base64").toString();
  return /5afe|safe|qx[a-x]{7}/i.test(inner);
}
