import type { TestContext } from "node:test";
import { Runner, type RunnerOptions } from "../../emulator/clock/runner.ts";
import { dequeue, enqueue } from "../../emulator/clock/schedule.ts";
import { type ClockSettings, VirtualClock } from "../../emulator/clock/virtual-clock.ts";
import { collections } from "../../emulator/compose/state/collections.ts";
import { openMemoryStore } from "../../emulator/store/memory-store.ts";
import type { Store } from "../../emulator/store/port.ts";
import { systemWallClock, type WallClock } from "../../src/base/clock.ts";

export const initialTimeMs = Date.parse("2031-01-02T03:04:05Z");
export const toMilliseconds = (count: number): number => count * 60_000;

export interface RunnerFixture {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly runner: Runner;
  /** Entries that ran, in order, as `+5 name`, in minutes after the start. */
  readonly runs: string[];
  /** Refs of the entries that failed. */
  readonly failures: string[];
  /** Adds entries to the queue in one transaction. Times are in ms after the start. */
  add(...entries: readonly (readonly [after: number, name: string])[]): Promise<void>;
}

interface StageOptions extends Pick<RunnerOptions, "limits" | "deterministic"> {
  readonly store?: Store;
  readonly wall?: WallClock;
  readonly clock?: ClockSettings;
}

/**
 * Creates a clock and a runner with one kind of work, scripted by name. `after 5 other` adds an entry five minutes
 * later, and `throw` fails. Each name is a separate concurrency key.
 */
export async function createRunnerFixture(
  t: Pick<TestContext, "after">,
  script: Readonly<Record<string, readonly string[]>> = {},
  options: StageOptions = {},
): Promise<RunnerFixture> {
  const wall = options.wall ?? systemWallClock;
  const store = options.store ?? openMemoryStore({ collections, wall });
  const clock = await VirtualClock.open(store, wall, { mode: "manual", now: initialTimeMs, ...options.clock });
  const runs: string[] = [];
  const failures: string[] = [];
  const runner = new Runner({
    ...options,
    store,
    clock,
    wall,
    onError: (entry) => failures.push(entry.ref),
    handlers: {
      play: {
        async start(_, entry) {
          runs.push(`+${(clock.now() - initialTimeMs) / 60_000} ${entry.ref}`);
          return (tx) => {
            dequeue(tx, entry);
            for (const line of script[entry.ref] ?? []) {
              const [verb, after, ...name] = line.split(" ");
              if (verb === "throw") throw new Error("as the script says");
              const ref = name.join(" ");
              enqueue(tx, { due: entry.due + toMilliseconds(Number(after)), kind: "play", concurrency_key: ref, ref });
            }
            return "done";
          };
        },
      },
    },
  });
  t.after(() => runner.close());
  return {
    store,
    clock,
    runner,
    runs,
    failures,
    add: (...entries) =>
      store.transaction("add", (tx) => {
        for (const [after, ref] of entries)
          enqueue(tx, { due: initialTimeMs + after, kind: "play", concurrency_key: ref, ref });
      }),
  };
}
