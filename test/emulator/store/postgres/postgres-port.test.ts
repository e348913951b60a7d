import { describe } from "node:test";
import type { Collection } from "../../../../emulator/store/port.ts";
import { systemWall } from "../../../../src/base/clock.ts";
import { noPostgres, postgresServer } from "../../../support/postgres/server.ts";
import { collections as ofTheSuite } from "../../../support/store.ts";
import type { Opened } from "../port/open.ts";
import { portSuite } from "../port/port-suite.ts";
import { openStore, stateIn } from "./opened.ts";

describe("in PostgreSQL", { skip: noPostgres }, () => {
  const server = postgresServer();
  portSuite("the store", async (t, { collections = ofTheSuite, wall = systemWall } = {}) => {
    const place = { url: server().url(), schema: server().freshSchema() };
    const openAs = async (collections: readonly Collection[]): Promise<Opened> => {
      // So small that it is compacted all the time.
      const { store } = await openStore({ ...place, collections, wall, compactAfterBytes: 400 });
      t.after(() => store.close());
      return {
        store,
        kept: {
          async reopen(others = collections) {
            await store.close();
            return openAs(others);
          },
          // What is in the database now is what a kill would leave.
          afterKill: () => stateIn({ ...place, collections }),
        },
      };
    };
    return openAs(collections);
  });
});
