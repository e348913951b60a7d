import { lengthOf } from "../format.ts";

/** A place on the axis: a moment, and how far from the left it stands. */
export interface Tick {
  readonly at: number;
  readonly x: number;
  /** Idle time before it that is drawn shorter than it was: `1 h 15 min`. */
  readonly gap?: string;
}

export interface Axis {
  readonly ticks: readonly Tick[];
  readonly width: number;
}

/** Half of a label that names its day stands before it. */
const lead = 60;
/** Marks beside each other do not touch. */
const step = 30;
const collapsed = 84;

/** How far apart two moments stand: seconds beside each other, and no idle time longer than a label. */
const distance = (gap: number): number => (gap >= 60_000 ? collapsed : gap >= 10_000 ? step + 8 : step);

/** Lays moments out from left to right, in milliseconds, each once; time in which nothing is collapses. */
export function axisOf(moments: readonly number[]): Axis {
  const sorted = [...new Set(moments)].sort((a, b) => a - b);
  const ticks: Tick[] = [];
  let x = lead;
  for (const [place, at] of sorted.entries()) {
    const gap = place === 0 ? 0 : at - sorted[place - 1]!;
    if (place > 0) x += distance(gap);
    ticks.push({ at, x, ...(gap >= 60_000 ? { gap: lengthOf(gap) } : {}) });
  }
  return { ticks, width: x + 2 * collapsed };
}

/** Of things in order, those that stand between two places: from this one on, and how many. */
export function between<Thing extends { readonly x: number }>(
  all: readonly Thing[],
  from: number,
  to: number,
): readonly Thing[] {
  return all.slice(firstFrom(all, from), firstFrom(all, to));
}

/** The place of the first that stands there or further right. */
function firstFrom(all: readonly { readonly x: number }[], x: number): number {
  let low = 0;
  let high = all.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all[middle]!.x < x) low = middle + 1;
    else high = middle;
  }
  return low;
}
