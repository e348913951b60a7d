import { LiveStore } from "../../../../emulator/store/live/live-store.ts";
import type { Store } from "../../../../emulator/store/port.ts";
import { Database, type Tx } from "../../../../emulator/store/postgres/database.ts";
import { recover } from "../../../../emulator/store/postgres/documents.ts";
import { openPostgresStore, type PostgresStoreOptions } from "../../../../emulator/store/postgres/open.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { createRandomIds } from "../../../../src/base/ids.ts";
import { collections } from "../../../support/store.ts";

type Opening = Pick<PostgresStoreOptions, "url" | "schema"> & Partial<PostgresStoreOptions>;

/** A store of the made-up collections, opened by a process of its own making. */
export const openStore = (given: Opening) =>
  openPostgresStore({
    collections,
    wall: systemWallClock,
    leaseWall: systemWallClock,
    candidate: aCandidate(),
    ...given,
  });

/** One who wants to lead. */
export const aCandidate = (): PostgresStoreOptions["candidate"] => ({
  instance: createRandomIds().uuid(),
  address: {},
  token: undefined,
  createToken: () => "the token",
});

/** What the next one would find in the database now. */
export async function stateIn({ url, schema, collections: known = collections }: Opening): Promise<Store> {
  const database = new Database(url, schema);
  try {
    // As of one moment: somebody may be writing.
    const read = (tx: Tx) => recover(tx, database.shown, known);
    const { state } = await database.pool.begin("isolation level repeatable read read only", read);
    return new LiveStore({ state, wall: systemWallClock });
  } finally {
    await database.close();
  }
}
