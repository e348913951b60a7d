import assert from "node:assert/strict";
import { addChecksum } from "../../../emulator/store/file/checksummed-document.ts";
import { getSnapshotFolder, openFileSnapshotStore } from "../../../emulator/store/file/file-snapshot-store.ts";
import { openFileStore } from "../../../emulator/store/file/file-store.ts";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import { type History, StateFormatError, type Store, type Transaction } from "../../../emulator/store/port.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import type { LogPosition } from "../../../src/files/log-line.ts";
import { collections, contentOf, exported, people, person, replaceWith, reset } from "../store.ts";
import { type Chance, Crashed, ForgetfulDisk } from "./forgetful-disk.ts";

/** Something that is done to a store: several transactions at once, a whole new state, or a close and a new start. */
export type Action =
  | readonly ((tx: Transaction) => void)[]
  | { readonly reset: (tx: Transaction) => void }
  | "export and replace"
  /** The state is kept under a name. */
  | "keep"
  /** It takes the place of the present one, which is kept under another. */
  | "go back"
  /** To before the last transaction, by the history. */
  | "rewind"
  | "close and open";

/** A life of a store, and what it is to hold after each of its commits. */
export interface Life {
  readonly actions: readonly Action[];
  readonly history: readonly string[];
  /** How much is kept of what led to its states; undefined: nothing. */
  readonly historyBytes: number | undefined;
}

const path = "/data/.svc/emulator.json";

/** What a store holds, as a text to compare. */
async function holds(store: Store): Promise<string> {
  const { sequences, rows, mappings } = await contentOf(store);
  const sorted = Object.entries(mappings).map(([name, owners]) => [name, Object.entries(owners).sort()]);
  const fields = Object.entries(rows).map(([name, list]) => [name, list.map((row) => Object.entries(row).sort())]);
  return JSON.stringify({ sequences, rows: fields, mappings: sorted });
}

/** Lives it in memory first, to know what is to be found. */
export async function lifeOf(actions: readonly Action[], historyBytes?: number): Promise<Life> {
  const store = openMemoryStore({ collections, wall: systemWallClock });
  const history = [await holds(store)];
  /** The states that led to the present one, which is the last. */
  let way = [await exported(store)];
  let kept = way;
  for (const action of actions) {
    if (action === "close and open") continue;
    if (action === "keep") {
      kept = [...way];
      continue;
    }
    if (action === "go back" || action === "rewind") {
      way = action === "rewind" ? way.slice(0, -1) : [...kept];
      await replaceWith(store, way.at(-1));
    } else if (action === "export and replace" || "reset" in action) {
      if (action === "export and replace") await replaceWith(store, await exported(store));
      else await reset(store, action.reset);
      way = [await exported(store)];
    } else {
      for (const write of action) {
        await store.transaction("write", write);
        history.push(await holds(store));
        way.push(await exported(store));
      }
      continue;
    }
    history.push(await holds(store));
  }
  return { actions, history, historyBytes };
}

const open = (disk: ForgetfulDisk, { historyBytes }: Life): Promise<Store> =>
  openFileStore({ path, collections, wall: systemWallClock, disk, compactAfterBytes: 300, historyBytes });

const snapshotsOn = (disk: ForgetfulDisk) => openFileSnapshotStore({ folder: getSnapshotFolder(path), disk });

/** Lives it on a disk, and tells how many commits were acknowledged before the disk died, if it did. */
async function live(life: Life, disk: ForgetfulDisk, died = () => false): Promise<number> {
  let acknowledged = 0;
  let store: Store | undefined;
  let past: LogPosition | undefined;
  try {
    store = await open(disk, life);
    for (const action of life.actions) {
      if (action === "close and open") {
        await store.close();
        store = await open(disk, life);
      } else if (action === "keep") {
        past = store.history?.place();
        await (await snapshotsOn(disk)).put("kept", addChecksum(store.export()));
      } else if (action === "go back") {
        const snapshotStore = await snapshotsOn(disk);
        const { store: next } = await store.load((await snapshotStore.open("kept"))!);
        await store.takeOver(next, { keep: (present) => snapshotStore.put("left", addChecksum(present)), past });
        acknowledged += 1;
      } else if (action === "rewind") {
        const history = store.history!;
        const [last] = await commitsOf(history);
        const before = await history.restoreAfter(last! - 1);
        await store.takeOver(before.store, { past: before.past });
        acknowledged += 1;
      } else if (action === "export and replace") {
        await replaceWith(store, await exported(store));
        acknowledged += 1;
      } else if ("reset" in action) {
        await reset(store, action.reset);
        acknowledged += 1;
      } else {
        const settled = await Promise.allSettled(action.map((write) => store!.transaction("write", write)));
        const failed = settled.findIndex(({ status }) => status === "rejected");
        acknowledged += failed === -1 ? action.length : failed;
        if (failed !== -1) throw (settled[failed] as PromiseRejectedResult).reason;
      }
    }
  } catch (error) {
    const root = (error as Error).cause ?? error;
    // A compaction that was cut off has put its base in place, and not noted yet what the ways back begin at.
    const isCutOff = died() && error instanceof StateFormatError;
    if (!(root instanceof Crashed || isCutOff)) throw error;
  } finally {
    await store?.close().catch(() => {});
  }
  return acknowledged;
}

/**
 * Every step that a life asks of the disk, the close at its end included, with its place. Of the writes of one snapshot
 * the first and the last stand for all.
 */
export async function stepsOf(life: Life): Promise<[at: number, step: string][]> {
  const steps: string[] = [];
  const disk = new ForgetfulDisk();
  disk.before = (step, at) => void steps.push(`${step} ${at}`);
  await live(life, disk);
  const between = (at: number) =>
    /^write .*\.svc-tmp$/.test(steps[at]!) && steps[at - 1] === steps[at] && steps[at + 1] === steps[at];
  return [...steps.entries()].filter(([at]) => !between(at));
}

export interface Crash {
  /** Before which step the disk dies, from 0. */
  readonly at: number;
  /** What is left of what was not synced. */
  readonly chance: Chance;
  /** Before which step of the start after it the disk dies again; undefined: it does not. */
  readonly again?: number;
}

/**
 * Lets the disk die, and checks what a start finds: the state after some commit, the last acknowledged one or a later
 * one; and that what is written from there on is kept in turn. `prepare` may spoil the disk first.
 */
export async function survive(
  life: Life,
  crash: Crash,
  prepare: (disk: ForgetfulDisk) => void = () => {},
): Promise<void> {
  const first = new ForgetfulDisk();
  prepare(first);
  const acknowledged = await live(life, first, dieAt(first, crash.at));
  let disk = first.crash(crash.chance);
  prepare(disk);
  if (crash.again !== undefined) {
    dieAt(disk, crash.again);
    await open(disk, life)
      .then((store) => store.close())
      .catch(() => {});
    disk = disk.crash(crash.chance);
    prepare(disk);
  }
  const found = await written(disk, life, 1_001);
  const at = life.history.indexOf(found, acknowledged);
  assert.ok(at >= acknowledged, `acknowledged ${life.history[acknowledged]}, found ${found}`);
  // Nothing of what was not synced is left this time.
  const next = disk.crash(() => 0.99);
  prepare(next);
  const more = await written(next, life, 1_002);
  assert.ok(more.includes('["id",1001]'), `acknowledged after the crash, and lost: ${more}`);
}

/** What a start finds; then it writes one row, which is acknowledged, and is left standing. */
async function written(disk: ForgetfulDisk, life: Life, id: number): Promise<string> {
  const store = await open(disk, life);
  const found = await holds(store);
  await checkHistory(store, life);
  const snapshotStore = await snapshotsOn(disk);
  for (const name of ["kept", "left"]) {
    // Whole, or not there.
    const document = await snapshotStore.open(name);
    if (document) await store.load(document);
  }
  await store.transaction("write", (tx) => tx.put(people, person(id)));
  return found;
}

/** Whatever the history names can be gone back to: the last is the present state, and all before a crash were once. */
async function checkHistory(store: Store, life: Life): Promise<void> {
  const { history } = store;
  if (!history) return;
  for (const [i, number] of (await commitsOf(history)).entries()) {
    const after = await holds((await history.restoreAfter(number)).store);
    if (i === 0) assert.equal(after, await holds(store));
    else assert.ok(life.history.includes(after), `after line ${number}: ${after}`);
  }
}

/** The numbers of the lines that led to the present state, the newest first. */
async function commitsOf(history: History): Promise<number[]> {
  const numbers: number[] = [];
  await history.visit(({ number }) => numbers.push(number) > 0);
  return numbers;
}

/** Lets the disk die before that step, from 0. Tells whether it has. */
export function dieAt(disk: ForgetfulDisk, at: number): () => boolean {
  const before = disk.before;
  let left = at;
  let isDead = false;
  disk.before = (step, path) => {
    isDead ||= left === 0;
    if (isDead) throw new Crashed(`before ${step} ${path}`);
    left -= 1;
    before(step, path);
  };
  return () => isDead;
}

/** The same numbers for the same seed (mulberry32). */
export function seeded(seed: number): Chance {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
