import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Commit, History, HistoryStart, Store } from "../../../../emulator/store/port.ts";
import {
  createPerson,
  exportContent,
  exportDocument,
  owners,
  people,
  resetStore,
  type StoreContent,
} from "../../../support/store.ts";
import { members, thirdMembers, owners as versionedOwners } from "../../../support/versioned-rows.ts";
import type { Open, OpenedStore } from "./open.ts";

type Step = { readonly puts: readonly number[] } | { readonly steps: number } | "reset" | "reopen" | "keep" | "restore";

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ puts: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }) }),
  },
  { weight: 3, arbitrary: fc.record({ steps: fc.integer({ min: 0, max: 6 }) }) },
  { weight: 2, arbitrary: fc.constantFrom("reset", "reopen", "keep", "restore") },
);

/** Nothing is written between the imported states. */
const backTwiceAndRestored: Step[] = [{ puts: [1, 2] }, "keep", { steps: 1 }, { steps: 1 }, "restore"];

const putPerson = (store: Store, id: number) =>
  store.transaction("put", (tx) => {
    const number = tx.next("numbers");
    tx.put(people, createPerson(id, { name: `the ${number}.`, tags: ["x".repeat(50)] }));
    tx.map(owners, number % 2 ? "eu-1" : "us-1", [`a${id}`]);
  });

async function readHistory(history: History): Promise<{ commits: Commit[]; historyStart: HistoryStart | undefined }> {
  const commits: Commit[] = [];
  const historyStart = await history.visit((commit) => commits.push(commit) > 0);
  return { commits, historyStart };
}

/** The states that led to the present one, oldest first, as the history returns them. */
async function listPastStates(store: Store): Promise<StoreContent[]> {
  const history = store.history!;
  const { commits, historyStart } = await readHistory(history);
  const numbers = [historyStart!.number, ...commits.reverse().map(({ number }) => number)];
  const states: StoreContent[] = [];
  for (const number of numbers) states.push(await exportContent((await history.restoreAfter(number)).store));
  return states;
}

async function rewindStore(store: Store, steps: number): Promise<void> {
  const history = store.history!;
  const numbers: number[] = [];
  const historyStart = await history.visit(({ number }) => numbers.push(number) <= steps);
  const { store: next, past } = await history.restoreAfter(historyStart ? historyStart.number : numbers[steps]!);
  await store.replaceWith(next, { past });
}

/** The history can be restored, for stores that keep one. */
export function defineHistorySuite(name: string, open: Open): void {
  describe(`${name}: its history`, () => {
    it("contains the way to the present state, without replaced states, across restarts", async (t) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
          let current: OpenedStore = await open(t, { historyBytes: 10_000_000 });
          let way = [await exportContent(current.store)];
          let savedPoint = {
            past: current.store.history!.getPosition(),
            document: await exportDocument(current.store),
            way,
          };
          for (const step of steps) {
            const { store } = current;
            if (step === "reopen") current = await current.durable!.reopen();
            else if (step === "keep") {
              savedPoint = { past: store.history!.getPosition(), document: await exportDocument(store), way };
            } else if (step === "restore") {
              await store.replaceWith(store.parseDocument(savedPoint.document), { past: savedPoint.past });
              way = savedPoint.way;
            } else if (step === "reset") {
              await resetStore(store, (tx) => tx.put(people, createPerson(500)));
              way = [await exportContent(store)];
            } else if ("steps" in step) {
              await rewindStore(store, step.steps);
              way = way.slice(0, Math.max(1, way.length - step.steps));
            } else {
              // Written concurrently, so that some form one group.
              await Promise.all(
                step.puts.map(async (id) => {
                  await putPerson(store, id);
                }),
              );
              const present = await exportContent(store);
              const states = await listPastStates(store);
              assert.deepEqual(states.at(-1), present);
              way = [...way, ...states.slice(way.length)];
            }
          }
          assert.deepEqual(await listPastStates(current.store), way);
          await current.store.close();
        }),
        { numRuns: 15, examples: [[backTwiceAndRestored]] },
      );
    });

    it("reaches back over an upgrade of its rows", async (t) => {
      const { store, durable } = await open(t, { historyBytes: 10_000_000, collections: [members, versionedOwners] });
      await store.transaction("one", (tx) => tx.put(members, { id: 1, name: "Ada Keller" }));
      await store.transaction("two", (tx) => tx.put(members, { id: 2, name: "Bo Li" }));
      const { history } = (await durable!.reopen([thirdMembers, versionedOwners])).store;
      const { commits } = await readHistory(history!);
      assert.equal(commits.length, 2);
      const { store: earlier } = await history!.restoreAfter(commits[1]!.number);
      assert.deepEqual(earlier.list(thirdMembers), [{ id: 1, first_name: "Ada", grade: 1 }]);
    });

    it("is complete while others write", async (t) => {
      const { store } = await open(t, { historyBytes: 10_000_000 });
      let writeCount = 0;
      let isOver = false;
      const writers = [1, 2, 3].map(async (id) => {
        for (; !isOver; writeCount += 1) await putPerson(store, id);
      });
      try {
        for (let time = 0; time < 20; time += 1) {
          const before = writeCount;
          const { commits, historyStart } = await readHistory(store.history!);
          assert.equal(historyStart?.number, 0);
          assert.ok(commits.length >= before, `${commits.length} of ${before}`);
        }
      } finally {
        isOver = true;
        await Promise.all(writers);
      }
    });

    it("drops the oldest entries beyond its limit, and is empty with a limit of 0", async (t) => {
      const { store, durable } = await open(t, { historyBytes: 6_000 });
      const states = [await exportContent(store)];
      const reach = async () => (await readHistory(store.history!)).historyStart!.number;
      for (let number = 1; number <= 60 || (await reach()) === 0; number += 1) {
        await putPerson(store, number % 7);
        states.push(await exportContent(store));
      }
      // Nothing is dropped while it is read.
      const again = await durable!.reopen();
      const pastStates = await listPastStates(again.store);
      assert.ok(pastStates.length < states.length);
      assert.deepEqual(pastStates, states.slice(-pastStates.length));
      await assert.rejects(again.store.history!.restoreAfter(0), { message: /no longer in the history/ });
      const { store: without } = await again.durable!.reopen(undefined, { historyBytes: 0 });
      assert.equal(without.history, undefined);
    });
  });
}
