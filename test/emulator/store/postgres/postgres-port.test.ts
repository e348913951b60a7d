import { describe } from "node:test";
import type { Collection } from "../../../../emulator/store/port.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { addCleanup } from "../../../support/cleanup.ts";
import { postgresSkipReason, startPostgresServer } from "../../../support/postgres/server.ts";
import { collections as ofTheSuite } from "../../../support/store.ts";
import { historySuite } from "../port/history.ts";
import type { Open, Opened, OpenOptions } from "../port/open.ts";
import { portSuite } from "../port/port-suite.ts";
import { openStore, stateIn } from "./opened.ts";

describe("PostgreSQL", { skip: postgresSkipReason }, () => {
  const server = startPostgresServer();
  const open: Open = async (t, { collections = ofTheSuite, wall = systemWallClock, historyBytes } = {}) => {
    const place = { url: server().url(), schema: server().freshSchema() };
    const openAs = async (
      collections: readonly Collection[],
      more: OpenOptions = { historyBytes },
    ): Promise<Opened> => {
      // The limit is small, so that the journal is compacted continuously.
      const { store } = await openStore({ ...place, collections, wall, compactAfterBytes: 400, ...more });
      addCleanup(t, () => store.close());
      return {
        store,
        kept: {
          async reopen(others = collections, options) {
            await store.close();
            return openAs(others, options);
          },
          // The current database is the result of a kill.
          afterKill: () => stateIn({ ...place, collections }),
        },
      };
    };
    return openAs(collections);
  };
  portSuite("the store", open);
  historySuite("the store", open);
});
