import { StateRefused } from "../port.ts";

/**
 * The form of bases, journals and exported documents. 1: lines of a journal stand alone, nothing says who wrote a
 * file. 2: they are numbered and chained, and the head names the writer and the version of each collection. 3: each
 * line says when it was written and why, and a base is the state of one moment, which says after which line it comes. All
 * are read, 3 is written.
 */
export const format = 3;
const readable: readonly unknown[] = [1, 2, format];

/** Fails with StateRefused for a format that this svc does not know. `by` is the svc that wrote it, where it says so. */
export function requireFormat(found: unknown, by?: string): void {
  if (readable.includes(found)) return;
  const writer = by === undefined ? "another version of svc" : `svc ${by}`;
  const message = `${writer} wrote it (format ${JSON.stringify(found)}; this one reads those up to ${format})`;
  throw new StateRefused(message, { repairable: false });
}
