import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { Database } from "../../../../emulator/store/postgres/database.ts";
import { FollowedState } from "../../../../emulator/store/postgres/followed-state.ts";
import type { Settled } from "../../../../emulator/store/postgres/postgres-log.ts";
import { systemWall } from "../../../../src/base/clock.ts";
import { noPostgres, postgresServer } from "../../../support/postgres/server.ts";
import { stallingProxy } from "../../../support/postgres/stalling-proxy.ts";
import { collections, people, person } from "../../../support/store.ts";
import { openStore } from "./opened.ts";

/** Each look takes a turn: what it waits for has to come. */
async function untilFresh(copy: FollowedState): Promise<void> {
  while (!(await copy.fresh())) await new Promise((turn) => setImmediate(turn));
}

describe("the copy of a state that another process writes", { skip: noPostgres }, () => {
  const server = postgresServer();

  /** A store with one who leads, and a copy that goes there through `folder`; `settled` is what the leader says. */
  async function followed(t: TestContext, folder = server().folder) {
    const place = { url: server().url(), schema: server().freshSchema() };
    const leads = await openStore(place);
    t.after(() => leads.store.close());
    await leads.leadership.tell({ reads: true });
    const database = new Database(place.url.replace(server().folder, folder), place.schema);
    t.after(() => database.close());
    const says: { settled: () => Promise<Settled | undefined> } = { settled: async () => leads.settled() };
    const settled = () => says.settled();
    const copy = new FollowedState({ database, collections, wall: systemWall, settled, changed: async () => {} });
    const put = (id: number) => leads.store.transaction("put", (tx) => tx.put(people, person(id)));
    await put(1);
    await untilFresh(copy);
    const ids = () => copy.store.read(async (view) => (await view.list(people)).map(({ id }) => id));
    return { leads, copy, says, put, ids };
  }

  it("does not show the last group while nobody says that its leader has it, nor when it is cut off", async (t) => {
    const { leads, copy, says, put, ids } = await followed(t);
    const before = leads.settled();
    await put(2);
    says.settled = async () => undefined;
    assert.deepEqual([await copy.fresh(), await ids()], [false, [1]]);
    says.settled = async () => before;
    assert.deepEqual([await copy.fresh(), await ids()], [false, [1]]);
    // As a leader does that never had the answer.
    await leads.leadership.renew(before.durable);
    assert.deepEqual([await copy.fresh(), await ids()], [true, [1]]);
  });

  it("shows it once the leader says that it has it, or another one follows", async (t) => {
    const { copy, says, put, ids } = await followed(t);
    const { settled } = says;
    await put(2);
    assert.deepEqual([await copy.fresh(), await ids()], [true, [1, 2]]);
    says.settled = async () => undefined;
    await put(3);
    await put(4);
    assert.deepEqual([await copy.fresh(), await ids()], [false, [1, 2, 3]]);
    says.settled = settled;
    assert.deepEqual([await copy.fresh(), await ids()], [true, [1, 2, 3, 4]]);
  });

  it("is not read while its network stalls, nor waited for, and has all once it goes on", async (t) => {
    const proxy = await stallingProxy(t, server());
    const { copy, put, ids } = await followed(t, proxy.folder);
    proxy.stall();
    await put(2);
    assert.deepEqual([await copy.fresh(), await copy.fresh()], [false, false]);
    proxy.goOn();
    await untilFresh(copy);
    assert.deepEqual(await ids(), [1, 2]);
  });
});
