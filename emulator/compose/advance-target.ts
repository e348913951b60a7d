import { parseDuration } from "../../src/base/duration.ts";
import type { AdvanceTargetMs } from "../clock/advance.ts";
import type { AdvanceTarget } from "../published.d.ts";
import { InvalidOptionsError } from "./options.ts";

const shape = "exactly one of by, to, next: true and untilIdle: true is required";

/** The same in milliseconds. Throws InvalidOptionsError in words where it can mean nothing. */
export function parseAdvanceTarget(move: AdvanceTarget): AdvanceTargetMs {
  const [name, ...others] = Object.keys(move ?? {}).filter((key) => move[key as keyof AdvanceTarget] !== undefined);
  if (name === undefined || others.length > 0) throw new InvalidOptionsError(`clock.advance: ${shape}`);
  if ("by" in move) {
    const by = typeof move.by === "string" ? parseDuration(move.by) : move.by;
    return { by: aNumber(by, "by", move.by, "milliseconds or a duration (PT2H35M, 2h35m)") };
  }
  if ("to" in move) {
    const to = typeof move.to === "string" ? Date.parse(move.to) : move.to;
    return { to: aNumber(to, "to", move.to, "milliseconds since the epoch or an ISO time") };
  }
  if ("next" in move && move.next === true) return { next: true };
  if ("untilIdle" in move && move.untilIdle === true) return { untilIdle: true };
  throw new InvalidOptionsError(`clock.advance: ${shape}, got ${name}: ${JSON.stringify(Object.values(move)[0])}`);
}

function aNumber(value: unknown, name: string, given: unknown, what: string): number {
  if (typeof value === "number" && !Number.isNaN(value)) return value;
  throw new InvalidOptionsError(`clock.advance: ${name} must be ${what}, got ${JSON.stringify(given)}`);
}
