import { isStandInToken, isStandInWord } from "../stand-ins.ts";
import { getVocabulary } from "../vocabulary.ts";
import type { Links } from "./links.ts";

export type TextDifference = "wording" | "enumeration" | "value" | "time-format" | "time";

/** Pieces of a recorded text that may differ in a replay. */
const volatile =
  /https?:\/\/[^/\s"'?#]+|\beyJ[\w-]*\.[\w-]*\.[\w-]*|qx[a-x]{9}@qx[a-x]{7}\.example|\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?|(?<![A-Za-z0-9])(?:safe|5afe)[A-Za-z0-9+/_=-]*|\b[A-Z]{1,5}-\d+\b|\bqx[a-x]{7}\b(?:[ ,.-]+qx[a-x]{7}\b)*|\d+/gi;

/** Times may differ by what a request takes. */
const toleranceMs = 5_000;

const escapeRegex = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");

/** `9999-99-99T99:99:99.999Z`: how a time is written. */
export const timeFormatOf = (time: string): string => time.replace(/\d/g, "9");
export const isTime = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/.test(text);

/** How a text of a replay differs from the recorded one; undefined: not at all. What may differ becomes a link. */
export function compareText(
  recorded: string,
  actual: string,
  links: Links,
  isFailure: boolean,
): TextDifference | undefined {
  if (recorded === actual) return undefined;
  if (isTime(recorded) && isTime(actual)) return compareTimes(recorded, actual, links);
  const { values } = getVocabulary();
  const unlike: TextDifference =
    values.has(recorded) || values.has(actual) ? "enumeration" : isFailure ? "wording" : "value";
  if (/^https?:\/\//.test(recorded) !== /^https?:\/\//.test(actual)) return unlike;
  const pieces = [...recorded.matchAll(volatile)].map(([piece]) => piece);
  const rest = recorded.split(volatile);
  const pattern = rest
    .map((text, at) => escapeRegex(text) + (at < pieces.length ? `(${patternFor(pieces[at]!)})` : ""))
    .join("");
  const found = new RegExp(`^${pattern}$`, "s").exec(actual);
  if (!found) return /^https?:\/\//.test(recorded) && linkUrl(recorded, actual, links) ? undefined : unlike;
  for (const [at, piece] of pieces.entries()) {
    if (!isSamePiece(piece, found[at + 1]!, links, /^https?:\/\//.test(recorded))) return unlike;
  }
  for (const [at, piece] of pieces.entries()) if (!/^\d+$/.test(piece)) links.linkText(piece, found[at + 1]!);
  links.linkText(recorded, actual);
  return undefined;
}

const patternFor = (piece: string): string => {
  if (/^https?:/.test(piece)) return "https?:\\/\\/[^/\\s\"'?#]+";
  if (/^\d+$/.test(piece)) return "\\d+";
  if (/^[A-Z]{1,5}-\d+$/.test(piece)) return `${piece.split("-")[0]}-\\d+`;
  if (isTime(piece)) return escapeRegex(timeFormatOf(piece)).replaceAll("9", "\\d");
  if (/^[0-9a-f-]{36}$/.test(piece)) return "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
  if (isStandInToken(piece) || piece.startsWith("eyJ")) return "[A-Za-z0-9+/_=.-]+";
  return ".+?";
};

function isSamePiece(recorded: string, actual: string, links: Links, isUrl: boolean): boolean {
  if (recorded === actual) return true;
  if (/^\d+$/.test(recorded)) return isUrl || links.number("", Number(recorded)) === Number(actual);
  if (isTime(recorded)) return compareTimes(recorded, actual, links) === undefined;
  // Both are made of what was sent: another word, or another case of it, is not the same.
  const words = recorded.split(/[ ,.-]+/);
  if (words.every(isStandInWord)) return !actual.split(/[ ,.-]+/).some(isStandInWord);
  return !recorded.includes("@") || !/qx[a-x]{9}@/i.test(actual);
}

function compareTimes(recorded: string, actual: string, links: Links): TextDifference | undefined {
  if (timeFormatOf(recorded) !== timeFormatOf(actual)) return "time-format";
  const apart = Math.abs(Date.parse(recorded) - Date.parse(actual));
  const tolerance = recorded.length <= 10 ? 24 * 3_600_000 : toleranceMs;
  if (apart > tolerance) return "time";
  links.linkText(recorded, actual);
  return undefined;
}

/** URLs of the same path with other parameters: signed ones, of another signature scheme, too. */
function linkUrl(recorded: string, actual: string, links: Links): boolean {
  const namesOf = (url: string) => [...new URLSearchParams(url.split("?")[1] ?? "").keys()].sort().join();
  const isSigned = /[?&][\w-]*(?:signature|token|sig|expires)/i.test(recorded);
  if (!isSigned || namesOf(recorded) !== namesOf(actual)) return false;
  links.linkText(recorded, actual);
  return true;
}
