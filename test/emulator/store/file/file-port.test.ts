import { join } from "node:path";
import { openFileStore } from "../../../../emulator/store/file/file-store.ts";
import { recover } from "../../../../emulator/store/file/recovery.ts";
import { LiveStore } from "../../../../emulator/store/live/live-store.ts";
import type { Collection } from "../../../../emulator/store/port.ts";
import { systemWall } from "../../../../src/base/clock.ts";
import { systemDisk } from "../../../../src/files/disk.ts";
import { collections as ofTheSuite, temporaryFolder } from "../../../support/store.ts";
import type { Opened } from "../port/open.ts";
import { portSuite } from "../port/port-suite.ts";

portSuite("the file store", async (t, { collections = ofTheSuite, wall = systemWall } = {}) => {
  const path = join(await temporaryFolder(t), "emulator.json");
  const openAs = async (collections: readonly Collection[]): Promise<Opened> => {
    // So small that it is compacted all the time.
    const store = await openFileStore({ path, collections, wall, compactAfterBytes: 400 });
    t.after(() => store.close());
    return {
      store,
      kept: {
        async reopen(others = collections) {
          await store.close();
          return openAs(others);
        },
        // What is on the disk now is what a kill would leave.
        afterKill: async () => new LiveStore({ state: (await recover(systemDisk, path, collections)).state, wall }),
      },
    };
  };
  return openAs(collections);
});
