import { lookupTable } from "./object.ts";

const units = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

const factors = lookupTable<number>({
  "": 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
  t: 2 ** 40,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
});

/** Parses `500MB`, `2GiB` or `1024`. Returns a positive integer of bytes, or undefined for any other text. */
export function parseSize(text: string): number | undefined {
  const [, number, unit = ""] = /^(\d{1,15}(?:\.\d{1,9})?) ?([a-z]{0,3})$/i.exec(text.trim()) ?? [];
  const factor = Object.hasOwn(factors, unit.toLowerCase()) ? factors[unit.toLowerCase()] : undefined;
  if (number === undefined || factor === undefined) return undefined;
  const bytes = Math.round(Number(number) * factor);
  return bytes >= 1 && Number.isSafeInteger(bytes) ? bytes : undefined;
}

/** Formats a size in the largest unit that is at most the size: `256 MiB`, `1.5 GiB`, `1000 B`. */
export function formatSize(bytes: number): string {
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const value = bytes / 1_024 ** step;
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[step]}`;
}
