import * as z from "zod";
import type { Snapshot } from "../../src/api/emulator/snapshots.ts";
import { toIsoMillis, type WallClock } from "../../src/base/clock.ts";
import { Emitter, Mutex } from "../../src/base/concurrency.ts";
import { tryParseJson } from "../../src/base/object.ts";
import { withTimeout } from "../../src/base/timing.ts";
import type { Runner } from "../clock/runner.ts";
import type { ScheduledEntry } from "../clock/schedule.ts";
import { clockState, type VirtualClock } from "../clock/virtual-clock.ts";
import { type Cluster, clusterRows } from "../domain/clusters.ts";
import { type ControlTokens, controlTokens } from "../domain/control-tokens.ts";
import { IdPosition, type RenewableIds } from "../domain/renewable-ids.ts";
import type { EmulatorSettings } from "../domain/settings.ts";
import { type Faults, StoredFaults } from "../faults/faults.ts";
import type { RequestLog } from "../http/request-log/request-log.ts";
import { isSameName, type SnapshotStore, type StoredSnapshot } from "../store/blobs.ts";
import { causes, parseCauseNumber, readLastRequestNumber } from "../store/causes.ts";
import { addChecksum } from "../store/journal/checksummed-document.ts";
import { type Collection, type LoadedState, type Rows, StateFormatError, type Store } from "../store/port.ts";
import { compareStates } from "./diff/compare.ts";
import { describeDiff } from "./diff/describe-diff.ts";
import { InvalidSnapshotError, replaceState, SnapshotExistsError, SnapshotNotFoundError } from "./replace-state.ts";
import {
  type CauseMap,
  describeSteps,
  findOrigin,
  findRewindPoint,
  HistoryUnavailableError,
  maxDescribedSteps,
  RewindOutOfRangeError,
  type RewindRequest,
  type RewindTarget,
  RewindTargetInFutureError,
  toRewindTarget,
  type UndoneStep,
  watchSteps,
} from "./rewind.ts";

interface SnapshotContext {
  readonly store: Store;
  readonly collections: readonly Collection[];
  readonly snapshotStore: SnapshotStore;
  readonly runner: Runner;
  readonly clock: VirtualClock;
  readonly wall: WallClock;
  readonly ids: RenewableIds;
  readonly faults: Faults;
  readonly requestLog: RequestLog;
  readonly clusters: readonly Cluster[];
  readonly tokens: ControlTokens;
  readonly settings: Pick<EmulatorSettings, "deterministic">;
  readonly report: (line: string) => void;
}

/** A snapshot in the form of the control plane. */
type SnapshotInfo = z.infer<typeof Snapshot>;

export interface RestoreResult {
  /** Name under which the previous state was saved. Undefined if nothing was undone. */
  readonly backupSnapshot: string | undefined;
  /** Running entries of the schedule, whose outcomes were not stored. */
  readonly dropped: readonly ScheduledEntry[];
}

interface RewindResult extends RestoreResult {
  /** Number of undone external requests and clock advances. The first clock advance can be undone in part. */
  readonly undone: number;
  /** The newest of them, newest first. */
  readonly steps: UndoneStep[];
}

/** Matches the names of backups of the current state: `before-1`, `before-2`, … */
const backupNamePattern = /^before-(\d+)$/i;
/** Maximum number of backups. The newest backups stay. */
const maxBackups = 10;

/** Wall-clock time for which a snapshot waits for running entries, because a receiver can hang. */
const maxIdleWaitMs = 1_000;

export class Snapshots {
  readonly #context: SnapshotContext;
  /** Serializes changes to the list of snapshots, because a free name is found before it is used. */
  readonly #mutex = new Mutex();
  readonly #changes = new Emitter();
  readonly watch = this.#changes.watch;

  constructor(context: SnapshotContext) {
    this.#context = context;
  }

  /** Saves the current state without blocking requests. Fails with SnapshotExistsError unless `replace` is set. */
  save(name: string, { replace = false }: { readonly replace?: boolean } = {}): Promise<SnapshotInfo> {
    return this.#runExclusive(async () => {
      const { snapshotStore } = this.#context;
      const document = await this.exportPresent(name);
      const existing = (await snapshotStore.list()).find((snapshot) => isSameName(snapshot.name, name));
      if (existing && !replace) throw new SnapshotExistsError(existing.name);
      await snapshotStore.put(name, document);
      return this.find(name);
    });
  }

  /** Returns the document of a snapshot that is not stored: the state when its first chunk is read. */
  async exportPresent(name: string): Promise<AsyncIterable<Uint8Array>> {
    const { store, runner, clock, wall } = this.#context;
    // A running attempt would be repeated after each restore. A running clock almost always has one, so there is no
    // wait.
    if (clock.mode !== "real") await withTimeout(wall, maxIdleWaitMs, runner.waitUntilIdle());
    return addChecksum(store.export(() => this.#buildHead(name)));
  }

  async list(): Promise<SnapshotInfo[]> {
    return Promise.all((await this.#context.snapshotStore.list()).map((stored) => this.#readInfo(stored)));
  }

  /** Fails with SnapshotNotFoundError. */
  async find(name: string): Promise<SnapshotInfo> {
    const storedSnapshots = await this.#context.snapshotStore.list();
    const stored = storedSnapshots.find((snapshot) => snapshot.name === name);
    if (!stored) throw new SnapshotNotFoundError(name, storedSnapshots);
    return this.#readInfo(stored);
  }

  /** Fails with SnapshotNotFoundError. */
  remove(name: string): Promise<void> {
    return this.#runExclusive(async () => {
      const { snapshotStore } = this.#context;
      if (!(await snapshotStore.remove(name))) throw new SnapshotNotFoundError(name, await snapshotStore.list());
    });
  }

  get collections(): readonly Collection[] {
    return this.#context.collections;
  }

  /**
   * Compares with the current state by default, and describes at most `limit` differences. Fails with
   * SnapshotNotFoundError and InvalidSnapshotError.
   */
  async diff(from: string, to: string | undefined, limit: number) {
    const { store, faults, runner } = this.#context;
    const before = await this.load(from);
    const after = to === undefined ? undefined : await this.load(to);
    const changes = await compareStates(before.store, after?.store ?? store, this.#comparedCollections);
    const newFaults = after?.snapshotHead.beside.faults ?? faults.toStored();
    const describeJob = (kind: string) => runner.describeKind(kind);
    return {
      from,
      to: to ?? null,
      ...describeDiff(changes, before.snapshotHead.beside.faults, newFaults, describeJob, limit),
    };
  }

  /** Control tokens are not compared, because a restore does not change them. */
  get #comparedCollections(): readonly Collection[] {
    return this.collections.filter((collection) => collection !== controlTokens);
  }

  /** Returns whether only time has changed. The sizes of the stores usually decide this. */
  async #isSame(otherStore: Store, beside: SnapshotHead["beside"]): Promise<boolean> {
    const { store, faults } = this.#context;
    const compared = this.#comparedCollections.filter((collection) => collection !== causes);
    const [otherCounts, ownCounts] = [countEntries(otherStore, compared), countEntries(store, compared)];
    if (otherCounts.join() !== ownCounts.join()) return false;
    const changes = await compareStates(otherStore, store, compared);
    return describeDiff(changes, beside.faults, faults.toStored(), () => undefined, 0).same;
  }

  /** Loads the complete state of a snapshot. Fails with SnapshotNotFoundError and InvalidSnapshotError. */
  async load(name: string): Promise<LoadedState & { readonly snapshotHead: SnapshotHead }> {
    const { snapshotStore, store } = this.#context;
    const document = await snapshotStore.open(name);
    if (!document) throw new SnapshotNotFoundError(name, await snapshotStore.list());
    const loadedState = await store.load(document).catch((cause) => {
      if (cause instanceof StateFormatError) throw new InvalidSnapshotError(name, cause.message, { cause });
      throw cause;
    });
    const { data: snapshotHead } = SnapshotHead.safeParse(loadedState.head);
    if (!snapshotHead) throw new InvalidSnapshotError(name, "it is a state, not a snapshot");
    const { name: ownName } = snapshotHead.snapshot;
    if (ownName !== name) throw new InvalidSnapshotError(name, `it is the renamed snapshot ${ownName}; rename it back`);
    return { ...loadedState, snapshotHead };
  }

  /**
   * Restores a snapshot with its rows, time, IDs and faults. The current state is saved first. Fails with
   * SnapshotNotFoundError and InvalidSnapshotError, without changes.
   */
  restore(name: string): Promise<RestoreResult> {
    return this.#replaceExclusively(async (concurrent) => {
      const { store: snapshotState, snapshotHead } = await this.load(name);
      this.#requireSameClusters(name, snapshotState);
      await snapshotState.transaction("time of the snapshot", (tx) => {
        const row = tx.get(clockState, "clock")!;
        tx.put(clockState, this.#context.clock.createStateAt(snapshotHead.snapshot.at, row));
      });
      return this.#restoreUnlessSame(snapshotState, snapshotHead.beside, concurrent);
    });
  }

  /** Replaces the current state by an exported state, which has no history. The current state is saved first. */
  replace(importedState: Store): Promise<RestoreResult> {
    return this.#replaceExclusively(async (concurrent) => {
      const { faults, requestLog } = this.#context;
      const requests = Math.max(requestLog.lastNumber, readLastRequestNumber(importedState));
      return this.#restoreUnlessSame(importedState, { faults: faults.toStored(), ids: null, requests }, concurrent);
    });
  }

  async #restoreUnlessSame(newStore: Store, beside: SnapshotHead["beside"], concurrent: CauseMap) {
    const isSame = await this.#isSame(newStore, beside);
    return this.#restoreStore(newStore, beside, () => !isSame || concurrent.size > 0);
  }

  /**
   * Rewinds along the history of the current state, which is saved first. Scripted faults stay. Fails with
   * HistoryUnavailableError, RewindTargetInFutureError and RewindOutOfRangeError, without changes.
   */
  rewind(request: RewindRequest): Promise<RewindResult> {
    return this.#replaceExclusively((concurrent) => this.#rewind(toRewindTarget(request), concurrent));
  }

  async #rewind(target: RewindTarget, concurrent: CauseMap): Promise<RewindResult> {
    const { store, clock, faults, requestLog } = this.#context;
    const { history } = store;
    if (!history) throw new HistoryUnavailableError();
    if ("to" in target && target.to > clock.now()) throw new RewindTargetInFutureError(clock.now());
    const present = {
      causes: new Map(store.list(causes).map((row) => [row.id, row])),
      line: history.getPosition().number,
    };
    const { first, chains, before, ids, reach } = await findRewindPoint(history, target, present);
    if (!first && "to" in target && target.to === clock.now())
      return { backupSnapshot: undefined, undone: 0, steps: [], dropped: [] };
    const { store: restoredState, past } = await history.restoreAfter(first ? first.number - 1 : present.line);
    const storedCauses = new Set(restoredState.list(causes).map(({ id }) => id));
    // The history only contains later results of a stored cause.
    if (before !== undefined && storedCauses.has(before))
      throw new RewindOutOfRangeError(reach ?? { number: 0 }, undefined);
    const startedAt = present.causes.get(before ?? first?.cause ?? "")?.at ?? first?.at;
    await restoredState.transaction("time of the rewind", (tx) => {
      const row = tx.get(clockState, "clock")!;
      const clockTime = row.mode === "real" ? (startedAt ?? clock.now()) : row.manual_now;
      tx.put(clockState, clock.createStateAt("to" in target ? target.to : clockTime, row));
    });
    const idPosition = IdPosition.safeParse(ids).data ?? null;
    const requests = findLastNumber(chains.flat(), storedCauses) ?? requestLog.lastNumber;
    const beside = { faults: faults.toStored(), ids: idPosition, requests, place: past };
    // A clock advance can be undone in part.
    const steps = new Set(chains.map(findOrigin).filter((id) => parseCauseNumber(id) !== undefined));
    const undone = [...steps].filter((id) => !storedCauses.has(id) || id.startsWith("advance:"));
    const undoneSteps = describeSteps(store, undone, chains, present.causes);
    const restored = await this.#restoreStore(restoredState, beside, () => first !== undefined || concurrent.size > 0);
    const laterSteps = [...concurrent.values()]
      .filter(({ id }) => !present.causes.has(id))
      .map(({ id, at, what }) => ({ id, at: toIsoMillis(at), what, contract: null }));
    return {
      ...restored,
      undone: undone.length + laterSteps.length,
      steps: [...laterSteps.reverse(), ...undoneSteps].slice(0, maxDescribedSteps),
    };
  }

  /** Saves the current state first. `isChanged` reports at the end whether more than time has changed. */
  async #restoreStore(
    newStore: Store,
    beside: SnapshotHead["beside"],
    isChanged: () => boolean,
  ): Promise<RestoreResult> {
    const { snapshotStore, faults, ids, requestLog, report } = this.#context;
    const idPosition = beside.ids ?? (await ids.startSequence(newStore));
    const names = (await snapshotStore.list()).map(({ name }) => name);
    const backupSnapshot = `before-${1 + Math.max(0, ...names.map((name) => Number(backupNamePattern.exec(name)?.[1] ?? 0)))}`;
    const dropped = await replaceState(this.#context, newStore, {
      saveReplaced: (present: AsyncIterable<string>) => snapshotStore.put(backupSnapshot, addChecksum(present)),
      head: () => this.#buildHead(backupSnapshot),
      past: beside.place ?? undefined,
      position: { ids: idPosition },
      onRestored() {
        faults.replaceState(beside.faults);
        ids.moveTo(idPosition);
        requestLog.rewindTo(beside.requests);
      },
    }).catch(async (cause) => {
      await snapshotStore.remove(backupSnapshot).catch(() => {});
      throw cause;
    });
    for (const { kind, ref } of dropped) {
      report(`The state was replaced while ${kind} ${ref} was in progress. Its outcome belongs to the previous state`);
    }
    const isBackupNeeded = isChanged();
    const backupNames = names.filter((name) => backupNamePattern.test(name));
    const unneededNames = isBackupNeeded
      ? backupNames.slice(0, Math.max(0, backupNames.length + 1 - maxBackups))
      : [backupSnapshot];
    for (const name of unneededNames) {
      // The state is already replaced. A later restore removes files that cannot be removed now.
      await snapshotStore.remove(name).catch(() => {});
    }
    return { backupSnapshot: isBackupNeeded ? backupSnapshot : undefined, dropped };
  }

  /** Passes the requests and clock advances that change the state until it is replaced, oldest first. */
  #replaceExclusively<T>(work: (concurrent: CauseMap) => Promise<T>): Promise<T> {
    return this.#runExclusive(() => {
      const { steps, end } = watchSteps(this.#context.store);
      return work(steps).finally(end);
    });
  }

  #runExclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.#mutex.runExclusive(() => work().finally(() => this.#changes.emit()));
  }

  #buildHead(name: string): SnapshotHead {
    const { store, clock, wall, faults, ids, requestLog, settings } = this.#context;
    const saved_at = settings.deterministic ? null : new Date(wall.now()).toISOString();
    return {
      snapshot: { name, at: clock.now(), saved_at },
      beside: {
        faults: faults.toStored(),
        ids: ids.getPosition() ?? null,
        requests: requestLog.lastNumber,
        place: store.history?.getPosition() ?? null,
      },
    };
  }

  async #readInfo({ name, bytes, file }: StoredSnapshot): Promise<SnapshotInfo> {
    let description: SnapshotDescription | undefined;
    for await (const block of (await this.#context.snapshotStore.open(name)) ?? []) {
      description = parseDescription(block.toString("utf8"));
      break;
    }
    const at = description ? toIsoMillis(description.at) : null;
    return { name, at, saved_at: description?.saved_at ?? null, bytes, file: file ?? null };
  }

  #requireSameClusters(name: string, newStore: Store): void {
    const snapshotIds = newStore.list(clusterRows, { by: "position" }).map(({ id }) => id);
    const ownIds = this.#context.clusters.map(({ id }) => id);
    if (snapshotIds.join() === ownIds.join()) return;
    throw new InvalidSnapshotError(
      name,
      `it has the clusters ${snapshotIds.join(", ")}, but this emulator runs ${ownIds.join(", ")}`,
    );
  }
}

/** Returns the number of rows or mappings of each collection. */
export const countEntries = (store: Store, collections: readonly Collection[]): number[] =>
  collections.map((collection) =>
    collection.kind === "rows" ? store.count(collection as unknown as Rows<object>) : store.size(collection),
  );

function findLastNumber(undone: readonly string[], stored: ReadonlySet<string>): number | undefined {
  const lastStored = [...stored].reduce((last, id) => Math.max(last, parseCauseNumber(id) ?? 0), 0);
  // Causes up to the last stored cause were not undone, so their numbers are ignored.
  const numbers = undone.map((id) => parseCauseNumber(id) ?? 0).filter((number) => number > lastStored);
  return numbers.length === 0 ? undefined : numbers.reduce((first, number) => Math.min(first, number)) - 1;
}

const SnapshotDescription = z.object({
  /** The name identifies a renamed file. */
  name: z.string(),
  at: z.int(),
  /** ISO time of the wall clock. Null with --deterministic, where no wall-clock time is stored. */
  saved_at: z.string().nullable(),
});
type SnapshotDescription = z.infer<typeof SnapshotDescription>;

const MemoryData = z.object({
  faults: StoredFaults,
  ids: IdPosition.nullable(),
  requests: z.int(),
  /** Last line of the store's history. Null or undefined if the history is not stored. */
  place: z.object({ number: z.int(), checksum: z.int() }).nullish(),
});

export const SnapshotHead = z.object({ snapshot: SnapshotDescription, beside: MemoryData });
export type SnapshotHead = z.infer<typeof SnapshotHead>;

/** The metadata is in the first lines of a document, if it has any. Each field is on one line. */
function parseDescription(firstBlock: string): SnapshotDescription | undefined {
  const line = /^"snapshot": (.*),$/m.exec(firstBlock)?.[1];
  return SnapshotDescription.safeParse(tryParseJson(line ?? "")).data;
}
