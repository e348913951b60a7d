import type { Runner } from "../clock/runner.ts";
import type { ScheduledEntry } from "../clock/schedule.ts";
import { clockState } from "../clock/virtual-clock.ts";
import { applyClusterRows, type Cluster, clusterRows } from "../domain/clusters.ts";
import type { ControlTokens } from "../domain/control-tokens.ts";
import { releaseClaims } from "../router/handlers.ts";
import type { ReplacementHooks, Store } from "../store/port.ts";

interface ServedState {
  readonly store: Store;
  readonly runner: Runner;
  readonly clusters: readonly Cluster[];
  readonly tokens: ControlTokens;
}

/**
 * Replaces the served state and its clock, and returns the running entries of the schedule. Claims of completed
 * requests are released in the new state, and control tokens stay. Running entries belong to the old state, so their
 * outcomes are not stored. `onRestored` replaces the data in memory at the same moment. `position.ids` is the position
 * of the new state's ID sequence.
 */
export async function replaceState(
  { store, runner, clusters, tokens }: ServedState,
  newStore: Store,
  {
    onRestored = () => {},
    position,
    ...hooks
  }: Pick<ReplacementHooks, "saveReplaced" | "head" | "past"> & {
    readonly onRestored?: () => void;
    readonly position?: { readonly ids?: unknown };
  } = {},
): Promise<readonly ScheduledEntry[]> {
  await releaseClaims(newStore);
  const clock = newStore.get(clockState, "clock")!;
  const rows = newStore.list(clusterRows);
  let runningEntries: readonly ScheduledEntry[] = [];
  const replacementHooks = {
    ...hooks,
    moment: position && { at: clock.manual_now, ids: position.ids },
    onReplaced() {
      runningEntries = runner.replaceState(clock);
      applyClusterRows(clusters, rows);
      onRestored();
    },
  };
  await tokens.carryOver(newStore, () => store.replaceWith(newStore, replacementHooks));
  await runner.waitForAdvance();
  return runningEntries;
}

export class SnapshotNotFoundError extends Error {
  override readonly name = "SnapshotNotFoundError";
  readonly wanted: string;
  readonly known: readonly string[];

  constructor(wanted: string, existing: readonly { readonly name: string }[]) {
    const existingNames = existing.map(({ name }) => name);
    super(`Snapshot ${wanted} not found. Known: ${existingNames.join(", ") || "none"}`);
    this.wanted = wanted;
    this.known = existingNames;
  }
}

/** Thrown if a snapshot has that name, or one that differs only in case. */
export class SnapshotExistsError extends Error {
  override readonly name = "SnapshotExistsError";
  readonly taken: string;

  constructor(taken: string) {
    super(`Snapshot ${taken} already exists. Use another name, or { replace: true }`);
    this.taken = taken;
  }
}

/** Thrown for an unusable snapshot, which is damaged, of another version, or not a snapshot. Nothing was changed. */
export class InvalidSnapshotError extends Error {
  override readonly name = "InvalidSnapshotError";
  readonly snapshot: string;
  readonly reason: string;

  constructor(snapshot: string, reason: string, options: { readonly cause?: unknown } = {}) {
    super(`Cannot use snapshot ${snapshot}: ${reason}`, options);
    this.snapshot = snapshot;
    this.reason = reason;
  }
}
