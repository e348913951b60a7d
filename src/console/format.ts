import { toIsoSeconds } from "../base/clock.ts";
import { omitUndefined } from "../base/object.ts";
import { describeDuration } from "../base/quantities.ts";

/** Formats a UTC date, such as `2031-01-02`. */
export const formatDate = (at: string | number): string => toIso(at).slice(0, 10);
export const formatTime = (at: string | number): string => toIso(at).slice(11, 19);

const toIso = (at: string | number): string => (typeof at === "string" ? at : toIsoSeconds(at));

/** Formats a duration in its two largest units: `1 h 20 min`, `4 min 55 s`; less than a second is `0 s`. */
export const formatElapsed = (ms: number): string =>
  describeDuration(Math.floor(Math.max(0, ms) / 1_000) * 1_000)
    .split(" ")
    .slice(0, 4)
    .join(" ");

/** Formats the query of an address, without undefined values: `?limit=5`, or nothing. */
export function formatQuery(query: Readonly<Record<string, unknown>>): string {
  const search = new URLSearchParams(omitUndefined(query) as Record<string, string>);
  return search.size > 0 ? `?${search}` : "";
}

/** `1 attempt`, `3 attempts`. */
export const pluralize = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

/** `10 000`, with narrow spaces. */
export const formatCount = (count: number): string => count.toLocaleString("en").replaceAll(",", "\u202f");

/** `CONTRACT_SIGNED` in words: `contract signed`. */
export const toWords = (code: string): string => code.toLowerCase().replaceAll("_", " ");

/**
 * Characters that are invisible or change the direction of the surrounding text. Joiners and marks are not included,
 * because scripts and emoji need them.
 */
const invisibleCharacters = /(?![\t\n])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** Formats a code point, such as `U+202E`. */
const formatCodePoint = (letter: string): string =>
  `U+${letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;

/** Marks the invisible characters of an untrusted string: `invoice⟨U+202E⟩gnp.exe`. */
export const revealInvisible = (text: string): string =>
  text.replace(invisibleCharacters, (letter) => `⟨${formatCodePoint(letter)}⟩`);

/** Letters of scripts that are written from right to left, such as Hebrew and Arabic. */
const fromTheRight = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** Isolates a string from the direction of the surrounding plain text, for labels and messages. */
export function isolateText(text: string): string {
  const open = revealInvisible(text);
  return fromTheRight.test(open) ? `\u2068${open}\u2069` : open;
}

/** Splits a string at invisible characters, each of which is a separate part: `["a", "U+202E", "b"]`. */
export function splitInvisible(text: string): readonly { readonly words: string; readonly isCode: boolean }[] {
  const parts = [];
  let from = 0;
  for (const { 0: letter, index } of text.matchAll(invisibleCharacters)) {
    // A Windows line ending (CRLF) counts as an ordinary line ending.
    if (letter === "\r" && text[index + 1] === "\n") continue;
    if (index > from) parts.push({ words: text.slice(from, index), isCode: false });
    parts.push({ words: formatCodePoint(letter), isCode: true });
    from = index + letter.length;
  }
  if (from < text.length) parts.push({ words: text.slice(from), isCode: false });
  return parts;
}

/** The meaning of a state for a reader who looks for errors. */
export type Tone = "good" | "bad" | "warn" | "open" | "none";

const tones = new Map<string, Tone>([
  ["delivered", "good"],
  ["retrying", "warn"],
  ["failed", "bad"],
  ["waiting", "open"],
  ["ACTIVE", "good"],
  ["DISABLED_BY_ERROR", "bad"],
  ["DISABLED_BY_USER", "warn"],
  ["EXECUTED", "good"],
  ["SIGN", "open"],
  ["VOIDED", "none"],
  ["ON_HOLD", "warn"],
  ["DRAFT", "none"],
  ["REDLINING", "open"],
]);

export const getTone = (code: string): Tone => tones.get(code) ?? (code.startsWith("skipped") ? "bad" : "none");

/** Returns the tone of a status: 2xx is good, no response or 5xx is bad, and 4xx is a client error. */
export const getStatusTone = (status: number | null): Tone =>
  status === null || status === 0 || status >= 500 ? "bad" : status >= 400 ? "warn" : "good";
