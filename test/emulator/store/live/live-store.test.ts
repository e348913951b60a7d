import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openMemoryStore } from "../../../../emulator/store/memory/memory-store.ts";
import { mapping, rows, type Store, type View } from "../../../../emulator/store/port.ts";
import { systemWall, type Wall } from "../../../../src/base/clock.ts";
import { collections, contentOf, exported, owners, type Person, people, person } from "../../../support/store.ts";

const open = (wall: Wall = systemWall): Store => openMemoryStore({ collections, wall });
const ids = (list: readonly Person[]): number[] => list.map((row) => row.id);

describe("rows", () => {
  it("are listed by an index, then in the order of their insertion", async () => {
    await using store = disposable(open());
    await store.transaction("seed", (tx) => {
      tx.put(people, person(1, { age: 30, tags: ["a"] }));
      tx.put(people, person(2, { age: 20, tags: ["a", "b"] }));
      tx.put(people, person(3, { age: 30 }));
      tx.put(people, person(4));
    });
    const seen = await store.read(async (view) => ({
      all: ids(await view.list(people)),
      newest: ids(await view.list(people, { reverse: true, offset: 1, limit: 2 })),
      byAge: ids(await view.list(people, { by: "age" })),
      thirty: ids(await view.list(people, { by: "age", equals: 30, reverse: true })),
      from21: ids(await view.list(people, { by: "age", from: 21, to: 30, offset: 1 })),
      tagged: ids(await view.list(people, { by: "tag", equals: "a" })),
      counts: [await view.count(people), await view.count(people, { by: "age" })],
    }));
    assert.deepEqual(seen, {
      all: [1, 2, 3, 4],
      newest: [3, 2],
      byAge: [2, 1, 3],
      thirty: [3, 1],
      from21: [3],
      tagged: [1, 2],
      counts: [4, 3],
    });
  });

  it("keep their place when they are replaced, and move in the indexes", async () => {
    await using store = disposable(open());
    await store.transaction("seed", (tx) => {
      for (const id of [1, 2, 3]) tx.put(people, person(id, { age: id }));
    });
    await store.transaction("replace", (tx) => tx.put(people, person(1, { age: 9 })));
    const seen = await store.read(async (view) => [
      ids(await view.list(people)),
      ids(await view.list(people, { by: "age" })),
    ]);
    assert.deepEqual(seen, [
      [1, 2, 3],
      [2, 3, 1],
    ]);
  });

  it("are frozen to their depths", async () => {
    await using store = disposable(open());
    const row = person(1, { tags: ["a"] });
    await store.transaction("seed", (tx) => tx.put(people, row));
    assert.throws(() => row.tags.push("b"), TypeError);
    assert.throws(() => Object.assign(row, { name: "other" }), TypeError);
  });
});

describe("a mapping", () => {
  it("says how many identifiers moved, and how many were removed", async () => {
    await using store = disposable(open());
    const moved = await store.transaction("map", (tx) => [
      tx.map(owners, "eu-1", ["a", "b", "c"]).moved,
      tx.map(owners, "us-1", ["b", "d"]).moved,
      tx.unmap(owners, "eu-1", ["a", "a", "b", "nobody"]).removed,
    ]);
    assert.deepEqual(moved, [0, 1, 1]);
    const seen = await store.read(async (view) => [
      await view.lookup(owners, "a"),
      await view.lookup(owners, "b"),
      await view.size(owners),
    ]);
    assert.deepEqual(seen, [undefined, "us-1", 3]);
  });
});

describe("a transaction", () => {
  it("that fails leaves nothing behind", async () => {
    await using store = disposable(open());
    await store.transaction("seed", (tx) => {
      for (const id of [1, 2, 3]) tx.put(people, person(id, { age: id, tags: ["x"] }));
      tx.map(owners, "eu-1", ["a", "b"]);
      tx.next("numbers");
    });
    const before = await contentOf(store);
    const failing = store.transaction("fail", async (tx) => {
      tx.delete(people, "2");
      tx.put(people, person(2, { age: 7 }));
      tx.put(people, person(1, { name: "other" }));
      tx.put(people, person(4));
      tx.map(owners, "us-1", ["b", "b", "c"]);
      tx.unmap(owners, "eu-1", ["a"]);
      tx.next("numbers");
      tx.next("others");
      assert.equal(await tx.count(people), 4);
      throw new Error("no");
    });
    await assert.rejects(failing, { message: "no" });
    assert.deepEqual(await contentOf(store), before);
    const tagged = await store.read(async (view) => ids(await view.list(people, { by: "tag" })));
    assert.deepEqual(tagged, [1, 2, 3]);
  });

  it("hides what it writes from readers until it is over", async () => {
    await using store = disposable(open());
    const written = signal();
    const proceed = signal();
    const writing = store.transaction("slow", async (tx) => {
      tx.put(people, person(1));
      written.raise();
      await proceed.raised;
      tx.put(people, person(2));
    });
    await written.raised;
    const reading = store.read((view) => view.count(people));
    proceed.raise();
    await writing;
    assert.equal(await reading, 2);
  });

  it("waits until the reads before it are over", async () => {
    await using store = disposable(open());
    const proceed = signal();
    const order: string[] = [];
    const reading = store.read(async (view) => {
      const before = await view.count(people);
      await proceed.raised;
      order.push(`read ${before} ${await view.count(people)}`);
    });
    const writing = store.transaction("write", (tx) => {
      tx.put(people, person(1));
      order.push("write");
    });
    proceed.raise();
    await Promise.all([reading, writing]);
    assert.deepEqual(order, ["read 0 0", "write"]);
  });

  it("inside another, or inside a read, is a bug that names the operation, and nothing of either stays", async () => {
    await using store = disposable(open());
    const inner = () => store.transaction("inner", (tx) => tx.put(people, person(2)));
    const outer = store.transaction("outer", async (tx) => {
      tx.put(people, person(1));
      await inner();
    });
    await assert.rejects(outer, { name: "EmulatorBug", operation: "inner", message: /inside transaction outer/ });
    await assert.rejects(store.read(inner), { name: "EmulatorBug", operation: "inner", message: /inside a read/ });
    assert.equal(await store.read((view) => view.count(people)), 0);
  });

  it("inside another or inside a read, after an await of theirs, ends both within 2 s", async () => {
    const wall = movedWall();
    await using store = disposable(open(wall));
    const opened = signal();
    const within = async (view: View) => {
      await view.count(people);
      const inner = store.transaction("inner", (tx) => tx.put(people, person(2)));
      opened.raise();
      await inner;
    };
    const reading = store.read(within);
    await opened.raised;
    wall.move(1_999);
    wall.move(1);
    await assert.rejects(reading, { name: "EmulatorBug", operation: "inner", message: /for a read to end/ });
    assert.equal(await store.read((view) => view.count(people)), 0);
    const outer = store.transaction("outer", within);
    await assert.rejects(Promise.all([outer, Promise.resolve().then(() => wall.move(2_000))]), {
      name: "EmulatorBug",
      operation: "outer",
      message: /more than 2 s/,
    });
  });

  it("reads its own writes through the store too", async () => {
    await using store = disposable(open());
    const seen = await store.transaction("outer", (tx) => {
      tx.put(people, person(1));
      return store.read((view) => view.count(people));
    });
    assert.equal(seen, 1);
  });

  it("that stays open for more than 2 s is rolled back, and what it does later fails", async () => {
    const wall = movedWall();
    await using store = disposable(open(wall));
    const opened = signal();
    const proceed = signal();
    const ended = signal();
    let late: unknown;
    const stuck = store.transaction("stuck", async (tx) => {
      tx.put(people, person(1));
      opened.raise();
      await proceed.raised;
      try {
        tx.put(people, person(2));
      } catch (error) {
        late = error;
      }
      ended.raise();
    });
    const next = store.transaction("next", (tx) => tx.put(people, person(3)));
    await opened.raised;
    wall.move(1_999);
    wall.move(1);
    await assert.rejects(stuck, { name: "EmulatorBug", operation: "stuck", message: /more than 2 s/ });
    await next;
    proceed.raise();
    await ended.raised;
    assert.deepEqual(ids(await store.read((view) => view.list(people))), [3]);
    assert.match(String(late), /after its read or transaction had ended/);
  });

  it("tells who watches the collections that it touched, once, and not after a failure", async () => {
    await using store = disposable(open());
    const told: string[] = [];
    store.watch(people, () => told.push("people"));
    const end = store.watch(owners, () => told.push("owners"));
    await store.transaction("one", (tx) => {
      tx.put(people, person(1));
      tx.put(people, person(2));
    });
    const failing = store.transaction("two", (tx) => {
      tx.put(people, person(3));
      throw new Error("no");
    });
    await assert.rejects(failing, { message: "no" });
    await store.transaction("three", (tx) => tx.map(owners, "eu-1", ["a"]));
    end();
    await store.transaction("four", (tx) => tx.map(owners, "eu-1", ["b"]));
    assert.deepEqual(told, ["people", "owners"]);
  });
});

describe("a view", () => {
  it("cannot be used after its end", async () => {
    await using store = disposable(open());
    let leaked: View | undefined;
    await store.read((view) => {
      leaked = view;
    });
    assert.throws(() => leaked?.count(people), { name: "EmulatorBug" });
  });
});

describe("the whole state", () => {
  it("goes out as one document and comes back", async () => {
    await using from = disposable(open());
    await using to = disposable(open());
    await from.transaction("seed", (tx) => {
      tx.put(people, person(1, { name: 'quote " and\nline', tags: ["ä"] }));
      tx.map(owners, "eu-1", ["a", 'b":"c']);
      tx.next("numbers");
    });
    await to.transaction("other", (tx) => tx.put(people, person(9)));
    await to.replace(await exported(from));
    assert.deepEqual(await contentOf(to), {
      sequences: { numbers: 1 },
      rows: { people: [person(1, { name: 'quote " and\nline', tags: ["ä"] })] },
      mappings: { owners: { a: "eu-1", 'b":"c': "eu-1" } },
    });
  });

  const refused: [document: unknown, why: RegExp][] = [
    [null, /not an object/],
    [{}, /not an exported state/],
    [{ svc_state: 3 }, /another version of svc wrote it \(format 3; this one reads those up to 2\)/],
    [{ svc_state: 3, written_by: "9.9.9" }, /svc 9\.9\.9 wrote it \(format 3/],
    [{ svc_state: 2 }, /"collections" is not an object/],
    [{ svc_state: 2, collections: { people: 0 } }, /"collections"\."people" is not a version/],
    [
      { svc_state: 2, written_by: "9.9.9", collections: { people: 2 } },
      /svc 9\.9\.9 wrote it, with version 2 of people; this version of svc knows those up to 1/,
    ],
    [{ svc_state: 2, collections: { robots: 1 } }, /a collection robots, which this version of svc does not have/],
    [{ svc_state: 1, rows: { people: [null] } }, /people\[0\] is not a row of people: row/],
    [{ svc_state: 1, rows: { people: {} } }, /"rows"\."people" is not a list/],
    [{ svc_state: 1, rows: [] }, /"rows" is not an object/],
    [{ svc_state: 1, rows: { people: [person(1), person(1)] } }, /people\[1\] has the key of another row of people, 1/],
    [{ svc_state: 1, mappings: { owners: ["a"] } }, /maps "0"|"mappings"\."owners" is not an object/],
    [{ svc_state: 1, sequences: { n: -1 } }, /Sequence n/],
    [{ svc_state: 1, sequences: 5 }, /"sequences" is not an object/],
    [{ svc_state: 1, rows: { people: [{ id: "1" }] } }, /people\[0\] is not a row of people: id/],
    [{ svc_state: 1, rows: { nobody: [{}] } }, /no collection nobody/],
    [{ svc_state: 1, mappings: { owners: { a: 1 } } }, /maps "a" to something other than a string/],
    [{ svc_state: 1, sequences: { n: 0.5 } }, /Sequence n/],
  ];
  for (const [document, why] of refused) {
    it(`stays as it is when ${JSON.stringify(document)} is put in its place`, async () => {
      await using store = disposable(open());
      await store.transaction("seed", (tx) => tx.put(people, person(1)));
      await assert.rejects(store.replace(document), { name: "StateRefused", message: why });
      assert.equal(await store.read((view) => view.count(people)), 1);
    });
  }

  it("begins anew all or nothing", async () => {
    await using store = disposable(open());
    await store.transaction("seed", (tx) => tx.put(people, person(1)));
    await assert.rejects(
      store.reset("reset", () => Promise.reject(new Error("no"))),
      { message: "no" },
    );
    assert.deepEqual(ids(await store.read((view) => view.list(people))), [1]);
    await store.reset("reset", (tx) => tx.put(people, person(2)));
    assert.deepEqual(ids(await store.read((view) => view.list(people))), [2]);
  });
});

describe("the list of collections", () => {
  it("names each collection once", () => {
    const twice = [mapping("owners"), mapping("owners")];
    assert.throws(() => openMemoryStore({ collections: twice, wall: systemWall }), /Two collections are called owners/);
  });

  it("is the only source of collections", async () => {
    await using store = disposable(open());
    const unknown = rows<Person>({ ...people, name: "unknown", indexes: {} });
    await assert.rejects(
      store.read((view) => view.list(unknown)),
      { name: "EmulatorBug", message: /unknown is not in the list/ },
    );
  });
});

function disposable(store: Store): Store & AsyncDisposable {
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() });
}

function signal(): { readonly raised: Promise<void>; raise(): void } {
  let raise = () => {};
  const raised = new Promise<void>((resolve) => {
    raise = resolve;
  });
  return { raised, raise };
}

function movedWall(): Wall & { move(ms: number): void } {
  let now = 0;
  let sleepers: { until: number; wake: () => void }[] = [];
  return {
    now: () => now,
    sleep: (ms) => new Promise((wake) => sleepers.push({ until: now + ms, wake })),
    move(ms) {
      now += ms;
      for (const { wake } of sleepers.filter(({ until }) => until <= now)) wake();
      sleepers = sleepers.filter(({ until }) => until > now);
    },
  };
}
