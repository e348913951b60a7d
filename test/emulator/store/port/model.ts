import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import fc from "fast-check";
import type { IndexQuery, Store, Transaction } from "../../../../emulator/store/port.ts";
import { createPerson, exportDocument, importDocument, owners, type Person, people } from "../../../support/store.ts";
import type { Open } from "./open.ts";

interface Model {
  rows: Map<string, Person>;
  owners: Map<string, string>;
  last: number;
}

type Write =
  | { readonly put: number; readonly age: number | undefined; readonly tags: string[] }
  | { readonly delete: number }
  | { readonly map: string[]; readonly to: string }
  | { readonly unmap: string[]; readonly of: string }
  | { readonly next: true };
type Step = { readonly writes: Write[]; readonly fails: boolean } | "close" | "crash" | "export";

const id = fc.integer({ min: 1, max: 12 });
const cluster = fc.constantFrom("eu-1", "us-1");
const names = fc.array(fc.constantFrom("a", "b", "c", "__proto__", 'q":"', "é"), { maxLength: 5 });
const write: fc.Arbitrary<Write> = fc.oneof(
  fc.record({
    put: id,
    age: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
    tags: fc.array(fc.constantFrom("x", "y"), { maxLength: 3 }),
  }),
  fc.record({ delete: id }),
  fc.record({ map: names, to: cluster }),
  fc.record({ unmap: names, of: cluster }),
  fc.constant({ next: true as const }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ writes: fc.array(write, { maxLength: 6 }), fails: fc.boolean() }) },
  { weight: 2, arbitrary: fc.constantFrom("close" as const, "crash" as const, "export" as const) },
);

function writeToStore(tx: Transaction, change: Write): void {
  if ("put" in change) tx.put(people, createRow(change));
  else if ("delete" in change) tx.delete(people, change.delete);
  else if ("map" in change) tx.map(owners, change.to, change.map);
  else if ("unmap" in change) tx.unmap(owners, change.of, change.unmap);
  else tx.next("numbers");
}

function writeToModel(model: Model, change: Write): void {
  if ("put" in change) model.rows.set(String(change.put), createRow(change));
  else if ("delete" in change) model.rows.delete(String(change.delete));
  else if ("map" in change) for (const name of change.map) model.owners.set(name, change.to);
  else if ("unmap" in change) {
    for (const name of change.unmap) if (model.owners.get(name) === change.of) model.owners.delete(name);
  } else model.last += 1;
}

const createRow = (change: Extract<Write, { put: number }>): Person =>
  createPerson(change.put, { tags: change.tags, ...(change.age === undefined ? {} : { age: change.age }) });

const slices: IndexQuery<"age" | "tag">[] = [
  {},
  { reverse: true, offset: 1, limit: 3 },
  { by: "age" },
  { by: "age", from: 1, to: 2, offset: 1 },
  { by: "age", equals: 2, reverse: true },
  { by: "age", from: 2, limit: 2 },
  { by: "tag", equals: "x", offset: 2, limit: 2 },
  { by: "tag", reverse: true },
];

/** The slice, computed by brute force. */
function listOf(model: Model, slice: IndexQuery<"age" | "tag">): { rows: Person[]; count: number } {
  const { by, equals, from = equals, to = equals, offset = 0, limit = Number.POSITIVE_INFINITY } = slice;
  const valuesOf = (row: Person) => (by === "tag" ? [...new Set(row.tags)] : row.age === undefined ? [] : [row.age]);
  const all = [...model.rows.values()];
  const placed = by
    ? all
        .flatMap((row) => valuesOf(row).map((value) => ({ row, value })))
        .filter(({ value }) => (from === undefined || value >= from) && (to === undefined || value <= to))
        .sort((a, b) => (a.value < b.value ? -1 : a.value > b.value ? 1 : 0))
        .map(({ row }) => row)
    : all;
  const ordered = slice.reverse ? [...placed].reverse() : placed;
  return { rows: ordered.slice(offset, offset + limit), count: placed.length };
}

async function compare(store: Store, model: Model): Promise<void> {
  const contents = {
    lists: slices.map((slice) => ({ rows: store.list(people, slice), count: store.count(people, slice) })),
    owners: [...model.owners.keys()].map((name) => store.lookup(owners, name)),
    size: store.size(owners),
  };
  assert.deepEqual(contents, {
    lists: slices.map((slice) => listOf(model, slice)),
    owners: [...model.owners.values()],
    size: model.owners.size,
  });
}

async function runSteps(t: TestContext, open: Open, steps: readonly Step[]): Promise<void> {
  let { store, durable } = await open(t);
  const model: Model = { rows: new Map(), owners: new Map(), last: 0 };
  for (const each of steps) {
    if (each === "close") {
      if (durable) ({ store, durable } = await durable.reopen());
    } else if (each === "crash") {
      if (durable) await compare(await durable.afterKill(), model);
    } else if (each === "export") {
      await importDocument(store, await exportDocument(store));
    } else {
      const transaction = store.transaction("step", (tx) => {
        for (const change of each.writes) writeToStore(tx, change);
        if (each.fails) throw new Error("fails");
      });
      if (each.fails) await assert.rejects(transaction, { message: "fails" });
      else await transaction;
      if (!each.fails) for (const change of each.writes) writeToModel(model, change);
    }
    await compare(store, model);
  }
  assert.equal(await store.transaction("next", (tx) => tx.next("numbers")), model.last + 1);
  await store.close();
}

/** Random operations on a store, compared with plain Maps. */
export function defineModelSuite(open: Open): void {
  describe("a store under random operations", () => {
    it("behaves like a Map, through failures, closes, crashes and replacements", async (t) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 25 }), (steps) => runSteps(t, open, steps)),
        { numRuns: 60 },
      );
    });
  });
}
