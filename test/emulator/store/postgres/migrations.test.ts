import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { noPostgres, postgresServer } from "../../../support/postgres/server.ts";
import { contentOf, people, person } from "../../../support/store.ts";
import { openStore } from "./opened.ts";

describe("tables of an earlier version", { skip: noPostgres }, () => {
  const server = postgresServer();

  it("of the first one, which knew no history, become those of today with all that is in them", async () => {
    const place = { url: server().url(), schema: server().freshSchema(), historyBytes: 1_000_000 };
    const { store: before } = await openStore(place);
    for (const id of [1, 2]) await before.transaction("put", (tx) => tx.put(people, person(id)));
    const content = await contentOf(before);
    await before.close();
    await server().sql((sql) =>
      sql.unsafe(`set search_path = ${place.schema}; alter table documents drop column last_line, drop column followed_by;
        alter table journal drop column written_by; drop table memory; update svc_store set version = 1`),
    );
    const { store } = await openStore(place);
    assert.deepEqual(await contentOf(store), content);
    await store.transaction("put", (tx) => tx.put(people, person(3)));
    const numbers: number[] = [];
    await store.history!.visit(({ number }) => numbers.push(number) > 0);
    const ids = async (number: number) =>
      (await contentOf((await store.history!.stateAfter(number)).store)).rows.people!.map((row) =>
        Reflect.get(row, "id"),
      );
    assert.deepEqual(await Promise.all(numbers.map(ids)), [[1, 2, 3], [1, 2], [1]]);
    await store.close();
  });
});
