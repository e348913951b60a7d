import { openMemoryStore } from "../../../../emulator/store/memory-store.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { collections } from "../../../support/store.ts";
import { portSuite } from "../port/port-suite.ts";

portSuite("the memory store", async (t, options) => {
  const store = openMemoryStore({ collections, wall: systemWallClock, ...options });
  t.after(() => store.close());
  return { store };
});
