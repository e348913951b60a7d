import { join } from "node:path";
import { openFileStore } from "../../../../emulator/store/file/file-store.ts";
import { recover } from "../../../../emulator/store/file/recovery.ts";
import { LiveStore } from "../../../../emulator/store/live/live-store.ts";
import type { Collection } from "../../../../emulator/store/port.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { systemDisk } from "../../../../src/files/disk.ts";
import { addCleanup } from "../../../support/cleanup.ts";
import { createTemporaryFolder, collections as ofTheSuite } from "../../../support/store.ts";
import { defineHistorySuite } from "../port/history.ts";
import type { Open, OpenedStore, OpenOptions } from "../port/open.ts";
import { definePortSuite } from "../port/port-suite.ts";

const open: Open = async (t, { collections = ofTheSuite, historyBytes } = {}) => {
  const path = join(await createTemporaryFolder(t), "emulator.json");
  const openAs = async (
    collections: readonly Collection[],
    more: OpenOptions = { historyBytes },
  ): Promise<OpenedStore> => {
    // Small, so that it is compacted all the time.
    const store = await openFileStore({ path, collections, wall: systemWallClock, compactAfterBytes: 400, ...more });
    addCleanup(t, () => store.close());
    return {
      store,
      durable: {
        async reopen(otherCollections = collections, options) {
          await store.close();
          return openAs(otherCollections, options);
        },
        // The current files are the result of a kill.
        afterKill: async () =>
          new LiveStore({ state: (await recover(systemDisk, path, collections)).state, wall: systemWallClock }),
      },
    };
  };
  return openAs(collections);
};

definePortSuite("the file store", open);
defineHistorySuite("the file store", open);
