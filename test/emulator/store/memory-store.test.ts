import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import { openMemoryStore } from "../../../emulator/store/memory-store.ts";
import { mapping, rows } from "../../../emulator/store/store.ts";
import { systemWall } from "../../../src/base/clock.ts";

const Person = z.strictObject({ id: z.int(), name: z.string(), age: z.int().optional(), tags: z.array(z.string()) });
type Person = z.infer<typeof Person>;
const people = rows<Person, "age" | "tag">({
  name: "people",
  schema: Person,
  key: (row) => String(row.id),
  indexes: { age: (row) => row.age, tag: (row) => row.tags },
});
const owners = mapping("owners");
const open = () => openMemoryStore({ collections: [people, owners], wall: systemWall });
const person = (id: number, age?: number, ...tags: string[]): Person => ({
  id,
  name: `p${id}`,
  tags,
  ...(age === undefined ? {} : { age }),
});

describe("rows", () => {
  it("are listed by index, then by insertion", async () => {
    const store = open();
    await store.transaction("t", (tx) => {
      for (const p of [person(1, 30, "a"), person(2, 20, "a", "b"), person(3, 30), person(4)]) tx.put(people, p);
    });
    const ids = (list: readonly Person[]) => list.map((p) => p.id);
    assert.deepEqual(
      await store.read(async (view) => [
        ids(await view.list(people)),
        ids(await view.list(people, { by: "age" })),
        ids(await view.list(people, { by: "age", equals: 30, reverse: true })),
        ids(await view.list(people, { by: "tag", equals: "a" })),
        await view.count(people, { by: "age" }),
        await view.count(people),
      ]),
      [[1, 2, 3, 4], [2, 1, 3], [3, 1], [1, 2], 3, 4],
    );
    await store.close();
  });
});
