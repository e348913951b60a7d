import { getVocabulary, isoTimePattern } from "../fields.ts";
import { isStandInToken, isStandInWord } from "../stand-ins.ts";
import type { ReplayLinks } from "./links.ts";

export type TextDifference = "wording" | "enumeration" | "value" | "time-format" | "time";

/** Parts of a recorded string that can differ in a replay. */
const replaceablePartPattern =
  /https?:\/\/[^/\s"'?#]{1,255}|(?<![\w.-])eyJ[\w.-]+|qx[a-x]{9}@qx[a-x]{7}\.example|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?|(?<![A-Za-z0-9])(?:safe|5afe)[A-Za-z0-9+/_=-]*|\b[A-Z]{1,5}-\d{1,20}\b|\bqx[a-x]{7}\b|\d{1,40}/gi;

/** Times can differ by the duration of a request. */
const maxTimeDeviationMs = 5_000;

/** Formats a time as a pattern such as `9999-99-99T99:99:99.999Z`. */
export const describeTimeFormat = (time: string): string => time.replace(/\d/g, "9");
export const isIsoTime = (text: string): boolean => isoTimePattern.test(text);

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
  if (/^https?:\/\//.test(recorded) !== /^https?:\/\//.test(actual)) return difference;
  const { pieces, rest } = splitVolatile(recorded);
  const found = matchTextPieces(actual, rest, pieces.map(getKind));
  if (!found) return /^https?:\/\//.test(recorded) && linkUrl(recorded, actual, links) ? undefined : difference;
  for (const [at, piece] of pieces.entries()) {
    if (!isSamePiece(piece, found[at]!, links, /^https?:\/\//.test(recorded))) return difference;
  }
  for (const [at, piece] of pieces.entries()) if (!/^\d+$/.test(piece)) links.linkText(piece, found[at]!);
  links.linkText(recorded, actual);
  return undefined;
}

/**
 * Splits a recorded string into replaceable parts and the text around them. Consecutive stand-in words are one part.
 */
function splitVolatile(text: string): { readonly pieces: readonly string[]; readonly rest: readonly string[] } {
  const pieces: string[] = [];
  const rest = [""];
  let at = 0;
  for (const { 0: piece, index } of text.matchAll(replaceablePartPattern)) {
    const between = text.slice(at, index);
    const last = pieces.at(-1);
    const isPhrase =
      last !== undefined && isStandInWord(piece) && /qx[a-x]{7}$/i.test(last) && /^[ ,.-]{1,3}$/.test(between);
    if (isPhrase) pieces[pieces.length - 1] = last + between + piece;
    else {
      rest[pieces.length] = between;
      pieces.push(piece);
      rest.push("");
    }
    at = index + piece.length;
  }
  rest[pieces.length] = text.slice(at);
  return { pieces, rest };
}

function getKind(piece: string): TextPieceKind {
  if (/^https?:/.test(piece)) return "origin";
  if (/^\d+$/.test(piece)) return "digits";
  if (/^[A-Z]{1,5}-\d+$/.test(piece)) return "id";
  if (isIsoTime(piece)) return "time";
  if (/^[0-9a-f-]{36}$/.test(piece)) return "uuid";
  return isStandInToken(piece) || piece.startsWith("eyJ") ? "token" : "text";
}

function isSamePiece(recorded: string, actual: string, links: ReplayLinks, isUrl: boolean): boolean {
  if (recorded === actual) return true;
  if (/^\d+$/.test(recorded)) return isUrl || links.findNumber("", Number(recorded)) === Number(actual);
  if (isIsoTime(recorded)) return compareTimes(recorded, actual, links) === undefined;
  if (/^[A-Z]{1,5}-\d+$/.test(recorded)) return recorded.split("-")[0] === actual.split("-")[0];
  // Both strings derive from the request, so another word, or another case of it, is a difference.
  const words = recorded.split(/[ ,.-]+/);
  if (words.every(isStandInWord)) {
    const others = actual.split(/[ ,.-]+/);
    const own = others.filter(isStandInWord);
    // The remaining words come from data that was not recorded, such as the name of a template.
    return own.length < others.length && own.join() === words.filter((word) => own.includes(word)).join();
  }
  return !recorded.includes("@") || !/qx[a-x]{9}@/i.test(actual);
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

/** Kind of a part in a pattern. */
type TextPieceKind = "digits" | "id" | "time" | "uuid" | "token" | "origin" | "text";

const piecePatterns: Readonly<Record<Exclude<TextPieceKind, "text">, RegExp>> = {
  digits: /\d{1,40}/y,
  id: /[A-Z]{1,5}-\d{1,20}/y,
  time: /\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?/y,
  uuid: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/y,
  token: /[A-Za-z0-9+/_=.-]+/y,
  origin: /https?:\/\/[^/\s"'?#]+/y,
};

/**
 * Matches a string of literal and variable parts: `literals[0] piece[0] literals[1] …`. Returns the variable parts, or
 * undefined if the string does not match. A part is text by default, and as short as possible.
 */
export function matchTextPieces(
  text: string,
  literals: readonly string[],
  kinds: readonly TextPieceKind[] = literals.slice(1).map(() => "text"),
): readonly string[] | undefined {
  if (!text.startsWith(literals[0]!)) return undefined;
  let at = literals[0]!.length;
  const pieces: string[] = [];
  for (const [index, kind] of kinds.entries()) {
    const next = literals[index + 1]!;
    const isLast = index === kinds.length - 1;
    const end = kind === "text" ? findTextEnd(text, at, next, isLast) : findFormEnd(text, at, kind);
    if (end === undefined || end <= at || !text.startsWith(next, end)) return undefined;
    pieces.push(text.slice(at, end));
    at = end + next.length;
  }
  return at === text.length ? pieces : undefined;
}

function findTextEnd(text: string, at: number, next: string, isLast: boolean): number | undefined {
  if (isLast) return text.length - next.length;
  const found = next === "" ? at + 1 : text.indexOf(next, at + 1);
  return found < 0 ? undefined : found;
}

function findFormEnd(text: string, at: number, kind: Exclude<TextPieceKind, "text">): number | undefined {
  const form = piecePatterns[kind];
  form.lastIndex = at;
  return form.test(text) ? form.lastIndex : undefined;
}
