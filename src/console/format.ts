import { toIsoSeconds } from "../base/clock.ts";

/** Formats a UTC date, such as `2031-01-02`. */
export const formatDate = (at: string | number): string => toIso(at).slice(0, 10);
export const formatTime = (at: string | number): string => toIso(at).slice(11, 19);

const toIso = (at: string | number): string => (typeof at === "string" ? at : toIsoSeconds(at));

const units = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** Formats a duration in its two largest units: `1 h 20 min`, `4 min 55 s`; less than a second is `0 s`. */
export function formatElapsed(ms: number): string {
  const first = units.findIndex(([, size]) => ms >= size);
  if (first < 0) return "0 s";
  const [[name, size], next] = [units[first]!, units[first + 1]];
  const whole = Math.floor(ms / size);
  const rest = next ? Math.floor((ms - whole * size) / next[1]) : 0;
  return `${whole} ${name}${next && rest > 0 ? ` ${rest} ${next[0]}` : ""}`;
}

/** `1 attempt`, `3 attempts`. */
export const pluralize = (count: number, one: string, many = `${one}s`): string =>
  `${formatCount(count)} ${count === 1 ? one : many}`;

/** `10 000`, with narrow spaces. */
export const formatCount = (count: number): string => count.toLocaleString("en").replaceAll(",", "\u202f");

/** `CONTRACT_SIGNED` in words: `contract signed`. */
export const toWords = (code: string): string => code.toLowerCase().replaceAll("_", " ");
