const iso =
  /^P(?:(\d+(?:\.\d+)?)W)?(?:(\d+(?:\.\d+)?)D)?(?:T(?=\d)(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$/i;
const shortPattern = /^(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?$/;

/**
 * Pattern of the durations that `parseDuration` accepts, without zero. JSON Schema has no flags, so the pattern has
 * none.
 */
export const durationPattern = `^(?=.*[1-9])(?:${ignoreCase(stripAnchors(iso))}|${stripAnchors(shortPattern)})$`;

function stripAnchors({ source }: RegExp): string {
  return source.slice(1, -1);
}
function ignoreCase(source: string): string {
  return source.replace(/[A-Z]/g, (letter) => `[${letter}${letter.toLowerCase()}]`);
}

const unitsMs = [604_800_000, 86_400_000, 3_600_000, 60_000, 1_000, 1];

/**
 * Parses an ISO 8601 duration (`PT2H35M`) or a short one (`2h35m`, `500ms`). Returns milliseconds, or undefined if the
 * text is neither.
 */
export function parseDuration(text: string): number | undefined {
  const match = iso.exec(text) ?? shortPattern.exec(text);
  const parts = match?.slice(1);
  if (!parts?.some((part) => part !== undefined)) return undefined;
  return Math.round(parts.reduce((sum, part, i) => sum + Number(part ?? 0) * unitsMs[i]!, 0));
}

/** Formats milliseconds as the shortest ISO 8601 duration: `PT2H35M`. */
export function formatDuration(ms: number): string {
  const days = Math.floor(ms / 86_400_000);
  const hours = Math.floor((ms % 86_400_000) / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = (ms % 60_000) / 1_000;
  const date = days ? `${days}D` : "";
  const time = `${hours ? `${hours}H` : ""}${minutes ? `${minutes}M` : ""}${seconds ? `${seconds}S` : ""}`;
  return date || time ? `P${date}${time && `T${time}`}` : "PT0S";
}

const unitNames = [
  ["day", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** Describes milliseconds in words, in whole seconds: `2 days`, `2 h 35 min`, `30 s`. */
export function describeDuration(ms: number): string {
  let remainingMs = Math.round(ms / 1_000) * 1_000;
  const parts = unitNames.flatMap(([name, length]) => {
    const count = Math.floor(remainingMs / length);
    remainingMs -= count * length;
    return count === 0 ? [] : [`${count} ${name === "day" && count > 1 ? "days" : name}`];
  });
  return parts.length === 0 ? "0 s" : parts.join(" ");
}

const units = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** Parses `500MB`, `2GiB` or `1024`. Returns a positive integer of bytes, or undefined for any other text. */
export function parseSize(text: string): number | undefined {
  const [, number, prefix = "", suffix] =
    /^(\d{1,15}(?:\.\d{1,9})?) ?(?:([kmgt])(i?b)?|b)?$/.exec(text.trim().toLowerCase()) ?? [];
  if (number === undefined) return undefined;
  // `kB` counts in thousands, `K` and `KiB` in powers of two.
  const factor = (suffix === "b" ? 1_000 : 1_024) ** ["", "k", "m", "g", "t"].indexOf(prefix);
  const bytes = Math.round(Number(number) * factor);
  return bytes >= 1 && Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Formats a size in the largest unit that is at most the size: `256 MiB`, `1.5 GiB`, `1000 B`. */
export function formatSize(bytes: number): string {
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const value = bytes / 1_024 ** step;
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[step]}`;
}

const isoTime = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?)?$/i;

/** Parses a day or a time of ISO 8601, in UTC unless it has an offset. Returns NaN for any other text. */
export function parseIsoTime(text: string): number {
  const [, day, time, offset = "Z"] = isoTime.exec(text) ?? [];
  const midnight = Date.parse(`${day}T00:00:00Z`);
  // The 30th of February would be parsed as a day of March.
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(day!)) return Number.NaN;
  return time === undefined ? midnight : Date.parse(`${day}T${time}${offset}`);
}
