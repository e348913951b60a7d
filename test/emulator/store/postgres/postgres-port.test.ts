import { describe } from "node:test";
import type { Collection } from "../../../../emulator/store/port.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { addCleanup } from "../../../support/cleanup.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { collections as ofTheSuite } from "../../../support/store.ts";
import { defineHistorySuite } from "../port/history.ts";
import type { Open, OpenedStore, OpenOptions } from "../port/open.ts";
import { definePortSuite } from "../port/port-suite.ts";
import { openStore, readStoredState } from "./opened.ts";

describe("PostgreSQL", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();
  const open: Open = async (t, { collections = ofTheSuite, historyBytes = 0 } = {}) => {
    const database = { url: server().url(), schema: server().freshSchema() };
    const openAs = async (
      collections: readonly Collection[],
      more: OpenOptions = { historyBytes },
    ): Promise<OpenedStore> => {
      // The limit is small, so that the journal is compacted continuously.
      const { store } = await openStore({
        ...database,
        collections,
        wall: systemWallClock,
        compactAfterBytes: 400,
        ...more,
      });
      addCleanup(t, () => store.close());
      return {
        store,
        durable: {
          async reopen(otherCollections = collections, options) {
            await store.close();
            return openAs(otherCollections, options);
          },
          // The current database is the result of a kill.
          afterKill: () => readStoredState({ ...database, collections }),
        },
      };
    };
    return openAs(collections);
  };
  definePortSuite("the store", open);
  defineHistorySuite("the store", open);
});
