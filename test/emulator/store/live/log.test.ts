import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type CommitLog, LiveStore, type LogHost } from "../../../../emulator/store/live/live-store.ts";
import { type Change, State } from "../../../../emulator/store/live/state.ts";
import { StoreFailedError } from "../../../../emulator/store/port.ts";
import { ManualWallClock, waitForIdle } from "../../../support/clocks/manual-wall-clock.ts";
import { collections, createPerson, exportContent, owners, people, resetStore } from "../../../support/store.ts";

/** Log whose writes succeed or fail under the control of the test. */
class ScriptedLog implements CommitLog {
  readonly appended: (readonly Change[])[] = [];
  readonly replaced: State[] = [];
  failure: StoreFailedError | undefined;
  closed = false;
  /** The result of a recovery attempt. */
  mends = false;
  attempts = 0;
  readonly #waiting: { readonly resolve: () => void; readonly reject: (cause: Error) => void }[] = [];
  #newest: Promise<void> = Promise.resolve();
  #failed = () => {};

  append(changes: readonly Change[]): Promise<void> {
    this.appended.push(changes);
    this.#newest = new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    return this.#newest;
  }

  waitUntilFlushed(): Promise<void> {
    return this.#newest;
  }

  async replace(state: State): Promise<void> {
    if (this.failure) throw this.failure;
    this.replaced.push(state);
  }

  attach(host: LogHost): void {
    this.#failed = () => host.onFailure();
  }

  async retryWrite(): Promise<boolean> {
    this.attempts += 1;
    if (this.mends) this.failure = undefined;
    return this.mends;
  }

  async close(): Promise<void> {
    this.closed = true;
  }

  /** Completes the oldest pending write. */
  goOn(): void {
    this.#waiting.shift()!.resolve();
  }

  /** Fails all pending writes. */
  breakDown(): void {
    this.failure = new StoreFailedError("the disk is gone");
    this.#newest = Promise.resolve();
    this.#failed();
    for (const { reject } of this.#waiting.splice(0)) reject(this.failure);
  }
}

function createScriptedStore() {
  const wall = new ManualWallClock();
  const log = new ScriptedLog();
  const store = new LiveStore({ state: new State(collections), wall, log });
  const put = (id: number, name = `p${id}`) =>
    store.transaction(`put ${id}`, (tx) => tx.put(people, createPerson(id, { name })));
  const names = () => store.list(people).map(({ name }) => name);
  return { wall, log, store, put, names };
}

/** Returns a promise and its current outcome. */
function trackOutcome(work: Promise<unknown>) {
  const outcome = { ended: "not yet", work };
  work.then(
    () => {
      outcome.ended = "done";
    },
    (error: Error) => {
      outcome.ended = error.message;
    },
  );
  return outcome;
}

describe("commit of a transaction", () => {
  it("is visible immediately, and completes when it is durable", async () => {
    const { log, store, put, names } = createScriptedStore();
    const notifications: string[] = [];
    store.watch([people], () => notifications.push("people"));
    const write = trackOutcome(put(1));
    await waitForIdle();
    assert.deepEqual([await names(), write.ended, notifications], [["p1"], "not yet", []]);
    const reader = trackOutcome(store.transaction("read only", (tx) => tx.count(people)));
    const flushed = trackOutcome(store.waitUntilDurable());
    await waitForIdle();
    assert.deepEqual([reader.ended, flushed.ended], ["not yet", "not yet"]);
    log.goOn();
    await waitForIdle();
    assert.deepEqual([write.ended, reader.ended, flushed.ended, notifications], ["done", "done", "done", ["people"]]);
    assert.deepEqual(log.appended, [[["put", "people", createPerson(1)]]]);
  });

  it("writes nothing and notifies no watcher if it has no changes", async () => {
    const { log, store } = createScriptedStore();
    const first = store.transaction("map", (tx) => tx.map(owners, "eu-1", ["a", "b"]));
    await waitForIdle();
    log.goOn();
    await first;
    const notifications: string[] = [];
    store.watch([people], () => notifications.push("people"));
    await store.transaction("again", (tx) => {
      tx.map(owners, "eu-1", ["a", "b"]);
      tx.map(owners, "us-1", []);
      tx.unmap(owners, "us-1", ["a", "c"]);
      tx.delete(people, 7);
    });
    assert.deepEqual([log.appended.length, notifications], [1, []]);
  });

  it("reports the last number of a sequence once", async () => {
    const { log, store } = createScriptedStore();
    const numbers = store.transaction("next", (tx) => [tx.next("a"), tx.next("b"), tx.next("a")]);
    await waitForIdle();
    log.goOn();
    assert.deepEqual(await numbers, [1, 1, 2]);
    assert.deepEqual(log.appended, [
      [
        ["next", "a", 2],
        ["next", "b", 1],
      ],
    ]);
  });
});

describe("failing log", () => {
  it("rolls back exactly the commits that are not durable, before notifying watchers", async () => {
    const { log, store, put, names } = createScriptedStore();
    const first = put(1);
    await waitForIdle();
    log.goOn();
    await first;
    const content = await exportContent(store);
    const waiting = [
      put(1, "another name"),
      put(2),
      store.transaction("delete", (tx) => tx.delete(people, 1)),
      put(1, "a third name"),
    ].map(trackOutcome);
    await waitForIdle();
    assert.deepEqual(await names(), ["p2", "a third name"]);
    log.breakDown();
    await waitForIdle();
    assert.deepEqual(
      waiting.map(({ ended }) => ended),
      Array(4).fill("the disk is gone"),
    );
    assert.deepEqual([await exportContent(store), store.writable], [content, false]);
    await store.close();
  });

  it("preserves everything confirmed earlier, however many commits are pending", async () => {
    const { log, put, names, store } = createScriptedStore();
    const all = [put(1), put(2), put(3)].map(trackOutcome);
    await waitForIdle();
    log.goOn();
    log.goOn();
    await waitForIdle();
    log.breakDown();
    await waitForIdle();
    assert.deepEqual(
      all.map(({ ended }) => ended),
      ["done", "done", "the disk is gone"],
    );
    assert.deepEqual(await names(), ["p1", "p2"]);
    await store.close();
  });

  it("rejects writes and permits reads", async () => {
    const { log, store, put, names } = createScriptedStore();
    log.breakDown();
    await waitForIdle();
    const diskGone = { name: "StoreFailedError", message: "the disk is gone" };
    await assert.rejects(put(1), diskGone);
    await assert.rejects(
      resetStore(store, () => {}),
      diskGone,
    );
    assert.deepEqual([await names(), log.appended, log.replaced], [[], [], []]);
    await store.close();
  });

  it("is retried with a delay that doubles up to eight seconds", async () => {
    const { wall, log, put, store, names } = createScriptedStore();
    log.breakDown();
    await waitForIdle();
    assert.equal(log.attempts, 1);
    const pauses: number[] = [];
    for (let i = 0; i < 6; i += 1) {
      pauses.push(...wall.sleeping);
      log.mends = i === 5;
      await wall.pass(wall.sleeping[0]!);
    }
    assert.deepEqual(pauses, [500, 1_000, 2_000, 4_000, 8_000, 8_000]);
    assert.deepEqual([log.attempts, store.writable, wall.sleeping], [7, true, []]);
    const written = put(1);
    await waitForIdle();
    log.goOn();
    await written;
    assert.deepEqual(await names(), ["p1"]);
  });

  it("can be closed while it waits for a retry", async () => {
    const { wall, log, store, put } = createScriptedStore();
    log.breakDown();
    await waitForIdle();
    const closing = trackOutcome(store.close());
    await waitForIdle();
    assert.deepEqual([closing.ended, log.closed, wall.sleeping, log.attempts], ["done", true, [], 1]);
    await assert.rejects(put(1), { name: "StoreFailedError", message: "The store is closed; put 1 changed nothing" });
  });
});

describe("closing store", () => {
  it("serves earlier callers, rejects later ones, and closes once", async () => {
    const { log, store, put } = createScriptedStore();
    const before = trackOutcome(put(1));
    await waitForIdle();
    const closing = [store.close(), store.close()].map(trackOutcome);
    await waitForIdle();
    log.goOn();
    await waitForIdle();
    assert.deepEqual([before.ended, ...closing.map(({ ended }) => ended)], ["done", "done", "done"]);
    await assert.rejects(put(2), { name: "StoreFailedError", message: "The store is closed; put 2 changed nothing" });
    assert.equal(closing[0]!.work, closing[1]!.work);
  });
});
