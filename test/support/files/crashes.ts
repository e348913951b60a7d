import assert from "node:assert/strict";
import { getSnapshotFolder, openFileSnapshotStore } from "../../../emulator/store/file/file-snapshot-store.ts";
import { openFileStore } from "../../../emulator/store/file/file-store.ts";
import { addChecksum } from "../../../emulator/store/journal/checksummed-document.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import { type History, StateFormatError, type Store, type Transaction } from "../../../emulator/store/port.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import type { LogPosition } from "../../../src/files/log-line.ts";
import {
  collections,
  createPerson,
  exportContent,
  exportDocument,
  importDocument,
  people,
  resetStore,
} from "../store.ts";
import { DiskCrashedError, ForgetfulDisk, type RandomSource } from "./forgetful-disk.ts";

/** An action on a store: concurrent transactions, a new state, or a restart. */
export type StoreAction =
  | readonly ((tx: Transaction) => void)[]
  | { readonly reset: (tx: Transaction) => void }
  | "export and replace"
  /** Saves the state as a snapshot. */
  | "keep"
  /** Restores the snapshot. The current state is saved as another one. */
  | "go back"
  /** Rewinds to before the last transaction. */
  | "rewind"
  | "close and open";

/** A sequence of actions on a store, with the expected content after each commit. */
export interface StoreLife {
  readonly actions: readonly StoreAction[];
  readonly history: readonly string[];
  /** Maximum size of the history in bytes, or undefined for no history. */
  readonly historyBytes: number | undefined;
}

const path = "/data/.svc/emulator.json";

/** Returns the content of a store as a string to compare. */
async function serializeContents(store: Store): Promise<string> {
  const { sequences, rows, mappings } = await exportContent(store);
  const sorted = Object.entries(mappings).map(([name, owners]) => [name, Object.entries(owners).sort()]);
  const fields = Object.entries(rows).map(([name, list]) => [name, list.map((row) => Object.entries(row).sort())]);
  return JSON.stringify({ sequences, rows: fields, mappings: sorted });
}

/** Runs the actions in memory first, to record the expected states. */
export async function recordStoreLife(actions: readonly StoreAction[], historyBytes?: number): Promise<StoreLife> {
  const store = openMemoryStore({ collections, wall: systemWallClock });
  const history = [await serializeContents(store)];
  /** States in the history of the current state, which is the last. */
  let undoSteps = [await exportDocument(store)];
  let savedWay = undoSteps;
  for (const action of actions) {
    if (action === "close and open") continue;
    if (action === "keep") {
      savedWay = [...undoSteps];
      continue;
    }
    if (action === "go back" || action === "rewind") {
      undoSteps = action === "rewind" ? undoSteps.slice(0, -1) : [...savedWay];
      await importDocument(store, undoSteps.at(-1));
    } else if (action === "export and replace" || "reset" in action) {
      if (action === "export and replace") await importDocument(store, await exportDocument(store));
      else await resetStore(store, action.reset);
      undoSteps = [await exportDocument(store)];
    } else {
      for (const write of action) {
        await store.transaction("write", write);
        history.push(await serializeContents(store));
        undoSteps.push(await exportDocument(store));
      }
      continue;
    }
    history.push(await serializeContents(store));
  }
  return { actions, history, historyBytes };
}

const open = (disk: ForgetfulDisk, { historyBytes }: StoreLife): Promise<Store> =>
  openFileStore({ path, collections, wall: systemWallClock, disk, compactAfterBytes: 300, historyBytes });

const openSnapshotStore = (disk: ForgetfulDisk) => openFileSnapshotStore({ folder: getSnapshotFolder(path), disk });

/** Runs the actions on a disk. Returns the number of commits that were acknowledged before the disk crashed. */
async function runLife(life: StoreLife, disk: ForgetfulDisk, hasCrashed = () => false): Promise<number> {
  let acknowledgedCount = 0;
  let store: Store | undefined;
  let past: LogPosition | undefined;
  try {
    store = await open(disk, life);
    for (const action of life.actions) {
      if (action === "close and open") {
        await store.close();
        store = await open(disk, life);
      } else if (action === "keep") {
        past = store.history?.getPosition();
        await (await openSnapshotStore(disk)).put("kept", addChecksum(store.export()));
      } else if (action === "go back") {
        const snapshotStore = await openSnapshotStore(disk);
        const { store: next } = await store.load((await snapshotStore.open("kept"))!);
        await store.replaceWith(next, {
          saveReplaced: (present) => snapshotStore.put("left", addChecksum(present)),
          past,
        });
        acknowledgedCount += 1;
      } else if (action === "rewind") {
        const history = store.history!;
        const [last] = await listCommits(history);
        const before = await history.restoreAfter(last! - 1);
        await store.replaceWith(before.store, { past: before.past });
        acknowledgedCount += 1;
      } else if (action === "export and replace") {
        await importDocument(store, await exportDocument(store));
        acknowledgedCount += 1;
      } else if ("reset" in action) {
        await resetStore(store, action.reset);
        acknowledgedCount += 1;
      } else {
        const settled = await Promise.allSettled(action.map((write) => store!.transaction("write", write)));
        const failed = settled.findIndex(({ status }) => status === "rejected");
        acknowledgedCount += failed === -1 ? action.length : failed;
        if (failed !== -1) throw (settled[failed] as PromiseRejectedResult).reason;
      }
    }
  } catch (error) {
    const root = (error as Error).cause ?? error;
    // An interrupted compaction replaced its checkpoint, but did not record yet where the history begins.
    const isCutOff = hasCrashed() && error instanceof StateFormatError;
    if (!(root instanceof DiskCrashedError || isCutOff)) throw error;
  } finally {
    await store?.close().catch(() => {});
  }
  return acknowledgedCount;
}

/**
 * Lists the steps of the disk in all actions and the final close, with their index. The first and the last write of a
 * snapshot represent the others.
 */
export async function listDiskSteps(life: StoreLife): Promise<[at: number, step: string][]> {
  const steps: string[] = [];
  const disk = new ForgetfulDisk();
  disk.beforeStep = (step, at) => void steps.push(`${step} ${at}`);
  await runLife(life, disk);
  const between = (at: number) =>
    /^write .*\.svc-tmp$/.test(steps[at]!) && steps[at - 1] === steps[at] && steps[at + 1] === steps[at];
  return [...steps.entries()].filter(([at]) => !between(at));
}

/** The disk of a life that a crash ended. */
interface CrashedLife {
  readonly life: StoreLife;
  readonly disk: ForgetfulDisk;
  readonly acknowledgedCount: number;
}

/** Runs the actions until the disk crashes before a step, counted from 0. */
export async function crashLife(life: StoreLife, step: number): Promise<CrashedLife> {
  const disk = new ForgetfulDisk();
  return { life, disk, acknowledgedCount: await runLife(life, disk, crashDiskAt(disk, step)) };
}

export interface CrashOutcome {
  /** Random source that decides which unsynced changes survive. */
  readonly chance: RandomSource;
  /** Index of the step during the next start before which the disk crashes again. Undefined for no second crash. */
  readonly secondCrashAt?: number;
}

/**
 * Checks the next start after one outcome of a crash. The store must have the state after the last acknowledged commit
 * or a later one, and must persist further writes.
 */
export async function assertSurvivesCrash(
  { life, disk: crashedDisk, acknowledgedCount }: CrashedLife,
  { chance, secondCrashAt }: CrashOutcome,
): Promise<void> {
  let disk = crashedDisk.crash(chance);
  if (secondCrashAt !== undefined) {
    crashDiskAt(disk, secondCrashAt);
    await open(disk, life)
      .then((store) => store.close())
      .catch(() => {});
    disk = disk.crash(chance);
  }
  const found = await writeAndSerialize(disk, life, 1_001);
  const at = life.history.indexOf(found, acknowledgedCount);
  assert.ok(at >= acknowledgedCount, `acknowledged ${life.history[acknowledgedCount]}, found ${found}`);
  // No unsynced change survives this crash.
  const next = disk.crash(() => 0.99);
  const more = await writeAndSerialize(next, life, 1_002);
  assert.ok(more.includes('["id",1001]'), `acknowledged after the crash, and lost: ${more}`);
}

/** Starts a store, writes one acknowledged row and leaves the store open. Returns the content at the start. */
async function writeAndSerialize(disk: ForgetfulDisk, life: StoreLife, id: number): Promise<string> {
  const store = await open(disk, life);
  const contents = await serializeContents(store);
  await checkHistory(store, life);
  const snapshotStore = await openSnapshotStore(disk);
  for (const name of ["kept", "left"]) {
    // A snapshot must be complete or absent.
    const document = await snapshotStore.open(name);
    if (document) await store.load(document);
  }
  await store.transaction("write", (tx) => tx.put(people, createPerson(id)));
  return contents;
}

/**
 * Checks that every commit in the history can be restored. The last is the current state, and the others were states
 * before the crash.
 */
async function checkHistory(store: Store, life: StoreLife): Promise<void> {
  const { history } = store;
  if (!history) return;
  for (const [i, number] of (await listCommits(history)).entries()) {
    const after = await serializeContents((await history.restoreAfter(number)).store);
    if (i === 0) assert.equal(after, await serializeContents(store));
    else assert.ok(life.history.includes(after), `after line ${number}: ${after}`);
  }
}

/** Returns the numbers of the commits that led to the current state, newest first. */
async function listCommits(history: History): Promise<number[]> {
  const numbers: number[] = [];
  await history.visit(({ number }) => numbers.push(number) > 0);
  return numbers;
}

/** Crashes the disk before a step, counted from 0. Returns a function that reports whether the crash happened. */
export function crashDiskAt(disk: ForgetfulDisk, at: number): () => boolean {
  const before = disk.beforeStep;
  let remainingSteps = at;
  let isDead = false;
  disk.beforeStep = (step, path) => {
    isDead ||= remainingSteps === 0;
    if (isDead) throw new DiskCrashedError(`before ${step} ${path}`);
    remainingSteps -= 1;
    before(step, path);
  };
  return () => isDead;
}

/** Creates a generator that returns the same numbers for the same seed (mulberry32). */
export function createSeededRandom(seed: number): RandomSource {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
