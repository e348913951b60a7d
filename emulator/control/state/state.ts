import type { Fail } from "../../../src/api/failures.ts";
import { toIsoMillis } from "../../../src/base/clock.ts";
import { pluralize } from "../../../src/base/text.ts";
import { clockState } from "../../clock/virtual-clock.ts";
import { appRows } from "../../domain/apps.ts";
import { clusterRows } from "../../domain/clusters.ts";
import { parseCauseNumber } from "../../store/causes.ts";
import { formatVersion } from "../../store/journal/document.ts";
import { type Collection, StateFormatError, type Store } from "../../store/port.ts";
import { parseTraceRef } from "../../trace/gather.ts";
import {
  InvalidSnapshotError,
  replaceState,
  SnapshotExistsError,
  SnapshotNotFoundError,
} from "../../travel/replace-state.ts";
import {
  HistoryUnavailableError,
  RewindOutOfRangeError,
  type RewindRequest,
  RewindTargetInFutureError,
} from "../../travel/rewind.ts";
import { countEntries } from "../../travel/snapshots.ts";
import type { ControlHandlers } from "../context.ts";

export const stateHandlers = {
  "snapshots.save": async ({ params: { name }, query: { replace } }, { snapshots, caller, fail }) => {
    const { name: token, role } = caller.token;
    try {
      return await snapshots.save(name, { replace: replace && role === "admin" });
    } catch (error) {
      // A replaced snapshot is lost, like a removed one.
      if (error instanceof SnapshotExistsError && replace) fail("insufficient-role", { token, role, needs: "admin" });
      if (error instanceof SnapshotExistsError) fail("snapshot-exists", { name: error.taken });
      throw error;
    }
  },

  "snapshots.list": (_, { snapshots }) => snapshots.list(),

  "snapshots.show": async ({ params: { name } }, { snapshots, fail }) => {
    const { store, head, snapshotHead } = await snapshots.load(name).catch(rejectSnapshotError(fail));
    return {
      ...(await snapshots.find(name)),
      written_by: String(head.written_by),
      ...countRows(store, snapshots.collections),
      faults: snapshotHead.beside.faults.faults.length,
    };
  },

  "snapshots.diff": ({ params: { name }, query: { to, limit } }, { snapshots, fail }) =>
    snapshots.diff(name, to, limit).catch(rejectSnapshotError(fail)),

  "snapshots.restore": async ({ params: { name } }, { snapshots, clock, fail }) => {
    const { backupSnapshot, dropped } = await snapshots.restore(name).catch(rejectSnapshotError(fail));
    return {
      name,
      now: toIsoMillis(clock.now()),
      backup_snapshot: backupSnapshot ?? null,
      dropped: dropped.map(({ kind, ref }) => ({ kind, ref })),
    };
  },

  "snapshots.rewind": async ({ body }, { snapshots, clock, requestLog, fail }) => {
    const { backupSnapshot, undone, steps, dropped } = await snapshots.rewind(body).catch((error) => {
      if (error instanceof HistoryUnavailableError) fail("no-history");
      if (error instanceof RewindTargetInFutureError) fail("time-in-future", { now: toIsoMillis(error.now) });
      if (error instanceof RewindOutOfRangeError) {
        const { steps, reach } = error;
        const newest = isFutureCause(body, requestLog.lastNumber) ? requestLog.lastNumber : undefined;
        fail("rewind-out-of-range", {
          lacks: describeMissing(body, steps, newest),
          newest,
          reach: reach.at === undefined ? undefined : toIsoMillis(reach.at),
          steps,
          // A request without `before` also matches.
          isOfCause: body.before === undefined || parseTraceRef(body.before)?.by === "cause",
        });
      }
      throw error;
    });
    return {
      now: toIsoMillis(clock.now()),
      backup_snapshot: backupSnapshot ?? null,
      undone,
      steps,
      dropped: dropped.map(({ kind, ref }) => ({ kind, ref })),
    };
  },

  "snapshots.remove": async ({ params: { name } }, { snapshots, fail }) => {
    await snapshots.remove(name).catch(rejectSnapshotError(fail));
    return undefined;
  },

  "state.export": (_, { store }) => store.export(),

  "state.import": async ({ body }, { store, blobs, clusters, clock, snapshots, fail }) => {
    const ownIds = clusters.map((cluster) => cluster.id);
    const importedIds = findClusterIds(body);
    if (importedIds && importedIds.join() !== ownIds.join())
      fail("foreign-clusters", { own: ownIds.join(", "), imported: importedIds.join(", ") });
    const missingCollection = permanentCollections.find((name) => getRows(body, name).length === 0);
    if (Number(body.svc_state) <= formatVersion && missingCollection)
      fail("invalid-state", { reason: `it has no ${missingCollection}` });
    await blobs.extendUnreferencedRetention();
    let importedStore: Store;
    try {
      importedStore = store.parseDocument(body);
    } catch (error) {
      if (error instanceof StateFormatError) fail("invalid-state", { reason: error.message });
      throw error;
    }
    const { backupSnapshot } = await snapshots.replace(importedStore);
    return { now: toIsoMillis(clock.now()), backup_snapshot: backupSnapshot ?? null };
  },

  "state.reset": async (_, { store, clusters, ids, instance, runner, tokens, requestLog, faults, inboxes }) => {
    const idPosition = ids.getPosition();
    const emptyStore = store.createEmptyStore();
    await emptyStore.transaction("state.reset", instance.createSeedWriter());
    const onRestored = () => {
      faults.clear();
      requestLog.rewindTo(0);
    };
    await replaceState({ store, clusters, runner, tokens }, emptyStore, {
      onRestored,
      position: { ids: ids.getPosition() },
    }).catch((cause) => {
      ids.moveTo(idPosition);
      throw cause;
    });
    for (const inbox of inboxes.values()) inbox.clear();
    return undefined;
  },
} satisfies ControlHandlers;

function describeMissing(
  { to, before, steps }: RewindRequest,
  stepCount: number | undefined,
  newest: number | undefined,
): string {
  if (newest !== undefined) return `to before ${before}, which does not exist: the newest number is ${newest}`;
  if (to !== undefined) return `to ${to}: the history does not include that time`;
  if (before !== undefined) return `to before ${before}: the history does not include it`;
  return `${pluralize(steps ?? 0, "step")}: the history ${stepCount ? `has ${stepCount}` : "is empty"}`;
}

/** Requests and clock advances share one sequence of numbers, which ends with `lastNumber`. */
function isFutureCause({ before = "" }: RewindRequest, lastNumber: number): boolean {
  const ref = parseTraceRef(before);
  return ref?.by === "cause" && (parseCauseNumber(ref.id) ?? 0) > lastNumber;
}

/** Rejects with the declared failure for a snapshot that is missing or unusable. */
const rejectSnapshotError =
  (fail: Fail<"no-such-snapshot" | "unusable-snapshot">) =>
  (error: unknown): never => {
    if (error instanceof SnapshotNotFoundError) {
      return fail("no-such-snapshot", { name: error.wanted, known: error.known.join(", ") || "none" });
    }
    if (error instanceof InvalidSnapshotError) {
      return fail("unusable-snapshot", { name: error.snapshot, reason: error.reason });
    }
    throw error;
  };

function countRows(store: Store, collections: readonly Collection[]) {
  const entries = countEntries(store, collections).map((size, i) => ({ ...collections[i]!, size }));
  const selectSizes = (selectedKind: Collection["kind"]) =>
    Object.fromEntries(
      entries.flatMap(({ kind, name, size }) => (kind === selectedKind && size > 0 ? [[name, size]] : [])),
    );
  return { rows: selectSizes("rows"), mappings: selectSizes("mapping") };
}

/** Every seed has these rows, and nothing removes them. A state without them could not serve any listener. */
const permanentCollections = [clusterRows.name, appRows.name, clockState.name];

const getRows = ({ rows }: Readonly<Record<string, unknown>>, name: string): readonly unknown[] =>
  [(rows as Readonly<Record<string, unknown>> | undefined)?.[name] ?? []].flat();

/** Returns the clusters of an exported state in seed order, or undefined if the document does not look like a state. */
function findClusterIds(document: Readonly<Record<string, unknown>>): string[] | undefined {
  const rows = getRows(document, clusterRows.name);
  return rows.length > 0 ? rows.map((row) => String((row as { id?: unknown } | null)?.id)) : undefined;
}
