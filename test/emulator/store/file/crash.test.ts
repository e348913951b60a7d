import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Transaction } from "../../../../emulator/store/port.ts";
import {
  assertSurvivesCrash,
  type CrashOutcome,
  crashLife,
  createSeededRandom,
  listDiskSteps,
  recordStoreLife,
  type StoreAction,
} from "../../../support/files/crashes.ts";
import { createPerson, owners, people } from "../../../support/store.ts";

const putPerson = (id: number) => (tx: Transaction) => {
  tx.put(people, createPerson(id, { name: `person ${id}`, age: id % 7 }));
  tx.map(owners, id % 2 ? "eu-1" : "us-1", [`a${id % 5}`, `b${id}`]);
  tx.next("numbers");
};
const drop = (id: number) => (tx: Transaction) => {
  tx.delete(people, id);
  tx.unmap(owners, "eu-1", [`b${id}`]);
};
const reset = (tx: Transaction) => tx.put(people, createPerson(500));

const lives: Record<string, readonly StoreAction[]> = {
  "a first start and single commits": [[putPerson(1)], [putPerson(2)], [drop(1)]],
  "commits that share a sync": [
    [putPerson(1)],
    [putPerson(2), putPerson(3), putPerson(4), drop(2), putPerson(5)],
    [putPerson(6), putPerson(7)],
  ],
  compactions: Array.from({ length: 9 }, (_, i) => [putPerson(i), putPerson(i + 1)]),
  "closes and reopens": [
    [putPerson(1)],
    "close and open",
    [putPerson(2)],
    "close and open",
    "close and open",
    [putPerson(3)],
  ],
  "a reset and a restore": [
    [putPerson(1)],
    { reset },
    [putPerson(2), putPerson(3)],
    "export and replace",
    [putPerson(4)],
  ],
  "a saved state and returns to it": [
    [putPerson(1), putPerson(2)],
    "keep",
    [putPerson(3), drop(1)],
    "go back",
    [putPerson(4)],
    "go back",
    [putPerson(5)],
  ],
};

/** Operations with a history, part of which is dropped meanwhile. */
const withHistory: Record<string, readonly [actions: readonly StoreAction[], historyBytes: number]> = {
  rewinds: [
    [[putPerson(1)], [putPerson(2), putPerson(3)], "rewind", [putPerson(4)], "rewind", "rewind", [putPerson(5)]],
    1_000_000,
  ],
  "rewinds after a reopen and a restore": [
    [
      [putPerson(1)],
      [putPerson(2)],
      "keep",
      "close and open",
      [putPerson(3)],
      "go back",
      [putPerson(4)],
      "rewind",
      "rewind",
      [putPerson(5)],
    ],
    1_000_000,
  ],
  "a trimmed history": [Array.from({ length: 7 }, (_, i) => [putPerson(i), putPerson(i + 1)]), 2_500],
};

/** At each step the maximum, the minimum and a random part of the writes survive. The last is followed by a crash. */
const createOutcomes = (at: number): CrashOutcome[] => [
  { chance: () => 0 },
  { chance: () => 0.99 },
  { chance: createSeededRandom(at % 4), secondCrashAt: (at + 2) % 7 },
];

describe("file store on a disk that loses unsynced writes", () => {
  const all = [
    ...Object.entries(lives).map(([label, actions]) => [label, actions, undefined] as const),
    ...Object.entries(withHistory).map(([label, life]) => [label, ...life] as const),
  ];
  for (const [label, actions, historyBytes] of all) {
    it(`preserves every acknowledged commit of ${label} in a crash at any step`, async () => {
      const life = await recordStoreLife(actions, historyBytes);
      const steps = await listDiskSteps(life);
      assert.ok(steps.length > 15, `only ${steps.length} steps`);
      for (const [at, step] of steps) {
        const crashedLife = await crashLife(life, at);
        for (const [number, outcome] of createOutcomes(at).entries()) {
          await assertSurvivesCrash(crashedLife, outcome).catch((error) => {
            throw new Error(`dead before step ${at} (${step}), outcome ${number}: ${error}`, { cause: error });
          });
        }
      }
    });
  }
});
