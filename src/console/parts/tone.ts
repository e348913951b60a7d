/** What a state means for somebody who looks for trouble. */
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

/** What a code of the emulator means for somebody who looks for trouble. */
export const toneOf = (code: string): Tone => tones.get(code) ?? (code.startsWith("skipped") ? "bad" : "none");

/** 2xx is good, no answer or 5xx is bad, 4xx is somebody's mistake. */
export const toneOfStatus = (status: number | null): Tone =>
  status === null || status === 0 || status >= 500 ? "bad" : status >= 400 ? "warn" : "good";
