import { openMemoryStore } from "../../../../emulator/store/memory-store.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { addCleanup } from "../../../support/cleanup.ts";
import { collections } from "../../../support/store.ts";
import { definePortSuite } from "../port/port-suite.ts";

definePortSuite("the memory store", async (t, options) => {
  const store = openMemoryStore({ collections, wall: systemWallClock, ...options });
  addCleanup(t, () => store.close());
  return { store };
});
