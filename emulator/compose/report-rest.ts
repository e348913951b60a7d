import type { Clock, Wall } from "../../src/base/clock.ts";
import { within } from "../../src/base/within.ts";
import { endOf, schedule } from "../clock/schedule.ts";
import { isReport } from "../cluster/reports/report.ts";
import type { Store } from "../store/port.ts";

/** Wall time: a report takes some milliseconds. */
const longestMs = 1_000;
const lookEveryMs = 5;
/** Of what is due, so many entries are looked at: reports begin at once, and stand in front. */
const looked = 256;

/**
 * When an emulator closes: lets what clusters have to report go out while the router still takes it. What remains is
 * reported after the next start.
 */
export async function reportRest(
  { store, clock, wall }: { readonly store: Store; readonly clock: Clock; readonly wall: Wall },
  hurry: AbortSignal,
): Promise<void> {
  const enough = new AbortController();
  const signal = AbortSignal.any([hurry, enough.signal]);
  await within(
    wall,
    longestMs,
    untilNothingIsDue().catch(() => {}),
  ); // A disk that refuses keeps nobody from closing.
  enough.abort("enough");

  async function untilNothingIsDue(): Promise<void> {
    while (!signal.aborted) {
      const slice = { by: "turn", to: endOf(clock.now()), limit: looked } as const;
      const due = await store.read((view) => view.list(schedule, slice));
      if (!due.some(({ kind }) => isReport(kind))) return;
      await wall.sleep(lookEveryMs, signal);
    }
  }
}
