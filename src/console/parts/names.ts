/**
 * Invisible characters, or ones that turn the text around them. Joiners and marks stay: scripts and emoji need them.
 */
const unseen = /(?![\t\n])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** `U+202E` */
const formatCodePoint = (letter: string): string =>
  `U+${letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`;

/** A foreign string in which nothing is hidden: `invoice⟨U+202E⟩gnp.exe`. */
export const revealInvisible = (text: string): string =>
  text.replace(unseen, (letter) => `⟨${formatCodePoint(letter)}⟩`);

/** Letters of Hebrew, Arabic and their sisters, which are read from the right. */
const fromTheRight = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/;

/** The same where there is only text: in labels and messages. */
export function isolateText(text: string): string {
  const open = revealInvisible(text);
  return fromTheRight.test(open) ? `\u2068${open}\u2069` : open;
}

/** A string split at invisible characters, each of which is a part of its own: `["a", "U+202E", "b"]`. */
export function splitInvisible(text: string): readonly { readonly words: string; readonly isCode: boolean }[] {
  const out = [];
  let from = 0;
  for (const { 0: letter, index } of text.matchAll(unseen)) {
    // A line that ends as those of Windows do is a line.
    if (letter === "\r" && text[index + 1] === "\n") continue;
    if (index > from) out.push({ words: text.slice(from, index), isCode: false });
    out.push({ words: formatCodePoint(letter), isCode: true });
    from = index + letter.length;
  }
  if (from < text.length) out.push({ words: text.slice(from), isCode: false });
  return out;
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

/** The meaning of a code of the emulator for a reader who looks for errors. */
export const getTone = (code: string): Tone => tones.get(code) ?? (code.startsWith("skipped") ? "bad" : "none");

/** 2xx is good, no response or 5xx is bad, 4xx is a caller's mistake. */
export const getStatusTone = (status: number | null): Tone =>
  status === null || status === 0 || status >= 500 ? "bad" : status >= 400 ? "warn" : "good";
