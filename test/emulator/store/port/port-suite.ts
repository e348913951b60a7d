import { describe } from "node:test";
import { causesSuite } from "./causes.ts";
import { durableSuite } from "./durable.ts";
import { exportSuite } from "./export.ts";
import { modelSuite } from "./model.ts";
import type { Open } from "./open.ts";
import { rowsSuite } from "./rows.ts";
import { transactionsSuite } from "./transactions.ts";
import { versionsSuite } from "./versions.ts";
import { wholeStateSuite } from "./whole-state.ts";

/** All guarantees of `emulator/store/port.ts`, for every implementation. */
export function portSuite(name: string, open: Open): void {
  describe(name, () => {
    rowsSuite(open);
    transactionsSuite(open);
    causesSuite(open);
    durableSuite(open);
    wholeStateSuite(open);
    exportSuite(open);
    versionsSuite(open);
    modelSuite(open);
  });
}
