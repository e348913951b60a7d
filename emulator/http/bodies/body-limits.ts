import { findStringEnd } from "../../../src/base/json.ts";

/**
 * Limits of one body (DECISIONS.md, E11). A body of 64 MiB can contain more values than fit in memory, and parsing each
 * member name blocks other requests for microseconds.
 */
export const bodyLimits = { values: 5_000_000, members: 1_000_000, fields: 10_000, parts: 1_000 } as const;

const quote = 0x22;
const commaByte = 0x2c;
const colon = 0x3a;
const openings = new Uint8Array(256);
for (const bracket of "[{") openings[bracket.charCodeAt(0)] = 1;

/** Describes the limit that a JSON text exceeds. Returns undefined if the text exceeds none. */
export function findExceededLimit(text: string): string | undefined {
  // Each value or member needs at least two characters.
  if (text.length < 2 * bodyLimits.members) return undefined;
  let values = 1;
  let members = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) at = findStringEnd(text, at);
    else if (code === colon) members += 1;
    else if (code === commaByte || openings[code] === 1) values += 1;
    if (members > bodyLimits.members) return `of more than ${bodyLimits.members} members`;
    if (values > bodyLimits.values) return `of more than ${bodyLimits.values} values`;
  }
  return undefined;
}

export const exceedsFieldLimit = (text: string): boolean =>
  text.split("&", bodyLimits.fields + 1).length > bodyLimits.fields;
