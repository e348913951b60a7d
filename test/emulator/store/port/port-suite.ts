import { describe } from "node:test";
import { defineCausesSuite } from "./causes.ts";
import { defineDurableSuite } from "./durable.ts";
import { defineExportSuite } from "./export.ts";
import { defineModelSuite } from "./model.ts";
import type { Open } from "./open.ts";
import { defineRowsSuite } from "./rows.ts";
import { defineTransactionsSuite } from "./transactions.ts";
import { defineVersionsSuite } from "./versions.ts";
import { defineWholeStateSuite } from "./whole-state.ts";

/** All guarantees of `emulator/store/port.ts`, for every implementation. */
export function definePortSuite(name: string, open: Open): void {
  describe(name, () => {
    defineRowsSuite(open);
    defineTransactionsSuite(open);
    defineCausesSuite(open);
    defineDurableSuite(open);
    defineWholeStateSuite(open);
    defineExportSuite(open);
    defineVersionsSuite(open);
    defineModelSuite(open);
  });
}
