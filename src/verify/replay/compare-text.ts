import { getVocabulary, isoTimePattern } from "../fields.ts";
import { isStandInWord } from "../stand-ins.ts";
import type { ReplayLinks } from "./links.ts";

export type TextDifference = "wording" | "enumeration" | "value" | "time-format" | "time";

/** Parts of a recorded string that can differ in a replay. The name of a group is the kind of the part. */
const replaceablePattern =
  /(?<origin>https?:\/\/[^/\s"'?#]{1,255})|(?<email>[Qq][Xx][A-Xa-x]{9}@[Qq][Xx][A-Xa-x]{7}\.example)|(?<uuid>(?<![A-Za-z0-9])5afe[0-9a-f]{4}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w+/=-]))|(?<token>(?<![\w.-])eyJ[\w.-]+|(?<![A-Za-z0-9])(?:safe|5afe)[\w+/=-]*)|(?<time>\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?)|(?<id>\b[A-Z]{1,5}-\d{1,20}\b)|(?<words>\b[Qq][Xx][A-Xa-x]{7}\b(?:[ ,.-]{1,3}[Qq][Xx][A-Xa-x]{7}\b)*)|(?<digits>\d{1,40})/g;

type PartKind = "origin" | "email" | "uuid" | "token" | "time" | "id" | "words" | "digits";

/** Patterns of the corresponding parts of a replayed string. Parts of other kinds can be any text. */
const replayedPatterns: Readonly<Partial<Record<PartKind, RegExp>>> = {
  origin: /https?:\/\/[^/\s"'?#]+/y,
  uuid: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/y,
  token: /[A-Za-z0-9+/_=.-]+/y,
  time: /\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?/y,
  id: /[A-Z]{1,5}-\d{1,20}/y,
  digits: /\d{1,40}/y,
};

/** Times can differ by the duration of a request. */
const maxTimeDeviationMs = 5_000;

/** Formats a time as a pattern such as `9999-99-99T99:99:99.999Z`. */
export const describeTimeFormat = (time: string): string => time.replace(/\d/g, "9");
export const isIsoTime = (text: string): boolean => isoTimePattern.test(text);
const isUrl = (text: string): boolean => /^https?:\/\//.test(text);

/**
 * Explains how a replayed string differs from the recorded one. Returns undefined if only replaceable parts differ.
 * These parts become links.
 */
export function compareText(
  recorded: string,
  actual: string,
  links: ReplayLinks,
  isFailure: boolean,
): TextDifference | undefined {
  if (recorded === actual) return undefined;
  if (isIsoTime(recorded) && isIsoTime(actual)) return compareTimes(recorded, actual, links);
  const { values } = getVocabulary();
  const difference: TextDifference =
    values.has(recorded) || values.has(actual) ? "enumeration" : isFailure ? "wording" : "value";
  if (isUrl(recorded) !== isUrl(actual)) return difference;
  const parts = [...recorded.matchAll(replaceablePattern)].map(({ 0: text, index, groups }) => {
    const [kind] = Object.entries(groups!).find(([, part]) => part !== undefined) as [PartKind, string];
    return { kind, text, from: index, to: index + text.length };
  });
  const literals = [...parts, undefined].map((part, at) => recorded.slice(parts[at - 1]?.to ?? 0, part?.from));
  const patterns = parts.map(({ kind }) => replayedPatterns[kind]);
  const found = matchTextPieces(actual, literals, patterns);
  if (!found) return isUrl(recorded) && linkUrl(recorded, actual, links) ? undefined : difference;
  const isSame = parts.every(
    ({ kind, text }, at) =>
      // The numbers in a URL belong to its path or to its signature.
      (kind === "digits" && isUrl(recorded)) || isSamePart(kind, text, found[at]!, links),
  );
  if (!isSame) return difference;
  for (const [at, { kind, text }] of parts.entries()) if (kind !== "digits") links.linkText(text, found[at]!);
  links.linkText(recorded, actual);
  return undefined;
}

function isSamePart(kind: PartKind, recorded: string, actual: string, links: ReplayLinks): boolean {
  if (recorded === actual) return true;
  switch (kind) {
    case "digits":
      return links.findNumber("", Number(recorded)) === Number(actual);
    case "time":
      return compareTimes(recorded, actual, links) === undefined;
    case "id":
      return recorded.split("-")[0] === actual.split("-")[0];
    // Stand-ins in both strings derive from the request, so another one, or another case of a word, is a difference.
    case "email":
      return !/qx[a-x]{9}@/i.test(actual);
    case "words": {
      const others = actual.split(/[ ,.-]+/);
      const own = others.filter(isStandInWord);
      const expected = recorded.split(/[ ,.-]+/).filter((word) => own.includes(word));
      // The remaining words come from data that was not recorded, such as the name of a template.
      return own.length < others.length && own.join() === expected.join();
    }
    default:
      return true;
  }
}

function compareTimes(recorded: string, actual: string, links: ReplayLinks): TextDifference | undefined {
  if (describeTimeFormat(recorded) !== describeTimeFormat(actual)) return "time-format";
  const distance = Math.abs(Date.parse(recorded) - Date.parse(actual));
  const tolerance = recorded.length <= 10 ? 24 * 3_600_000 : maxTimeDeviationMs;
  if (distance > tolerance) return "time";
  links.linkText(recorded, actual);
  return undefined;
}

/** Links signed URLs with the same parameter names. Returns false for other URLs. */
function linkUrl(recorded: string, actual: string, links: ReplayLinks): boolean {
  const listNames = (url: string) => [...new URLSearchParams(url.split("?")[1] ?? "").keys()].sort().join();
  const isSigned = /[?&][\w-]*(?:signature|token|sig|expires)/i.test(recorded);
  if (!isSigned || listNames(recorded) !== listNames(actual)) return false;
  links.linkText(recorded, actual);
  return true;
}

/**
 * Matches a string of literal and variable parts: `literals[0] piece[0] literals[1] …`. Returns the variable parts, or
 * undefined if the string does not match. A part without a pattern is as short as possible.
 */
export function matchTextPieces(
  text: string,
  [first = "", ...others]: readonly string[],
  patterns: readonly (RegExp | undefined)[] = [],
): readonly string[] | undefined {
  if (!text.startsWith(first)) return undefined;
  let at = first.length;
  const pieces: string[] = [];
  for (const [index, next] of others.entries()) {
    const end = findPieceEnd(text, at, next, index === others.length - 1, patterns[index]);
    if (end <= at || !text.startsWith(next, end)) return undefined;
    pieces.push(text.slice(at, end));
    at = end + next.length;
  }
  return at === text.length ? pieces : undefined;
}

/** Returns at most the position of the start if there is no end. */
function findPieceEnd(text: string, at: number, next: string, isLast: boolean, pattern: RegExp | undefined): number {
  if (pattern) {
    pattern.lastIndex = at;
    return pattern.test(text) ? pattern.lastIndex : at;
  }
  if (isLast) return text.length - next.length;
  return next === "" ? at + 1 : text.indexOf(next, at + 1);
}
