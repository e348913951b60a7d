import { LiveStore } from "../../../../emulator/store/live/live-store.ts";
import type { Store } from "../../../../emulator/store/port.ts";
import { Database, type Tx } from "../../../../emulator/store/postgres/database.ts";
import { recover } from "../../../../emulator/store/postgres/documents.ts";
import { openPostgresStore, type PostgresStoreOptions } from "../../../../emulator/store/postgres/open.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { createRandomIds } from "../../../../src/base/ids.ts";
import { collections } from "../../../support/store.ts";

type OpeningOptions = Pick<PostgresStoreOptions, "url" | "schema"> & Partial<PostgresStoreOptions>;

/** A store of the test collections, opened by a simulated process. */
export const openStore = (options: OpeningOptions) =>
  openPostgresStore({
    collections,
    wall: systemWallClock,
    leaseWall: systemWallClock,
    candidate: createCandidate(),
    ...options,
  });

/** A candidate to lead. */
export const createCandidate = (): PostgresStoreOptions["candidate"] => ({
  instance: createRandomIds().uuid(),
  address: {},
  token: undefined,
  createToken: () => "the token",
});

/** The state that the next process would find in the database now. */
export async function readStoredState({
  url,
  schema,
  collections: openedCollections = collections,
}: OpeningOptions): Promise<Store> {
  const database = new Database(url, schema);
  try {
    // In one snapshot, because another process may be writing.
    const read = (tx: Tx) => recover(tx, database.displayUrl, openedCollections);
    const { state } = await database.pool.begin("isolation level repeatable read read only", read);
    return new LiveStore({ state, wall: systemWallClock });
  } finally {
    await database.close();
  }
}
