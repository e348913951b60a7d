import { join } from "node:path";
import { describe, type TestContext } from "node:test";
import type { EmulatorOptions } from "../../../emulator/index.ts";
import { createTestFolder } from "../cli/cli-emulator.ts";
import { postgresSkipReason, startPostgresServer } from "./server.ts";

/** Creates the options of an emulator with an empty store for one test. */
export type StoreOptionsFactory = (t: TestContext) => Promise<EmulatorOptions>;

/** Places the store in a file. */
export const placeInFile: StoreOptionsFactory = async (t) => ({
  file: join(await createTestFolder(t), "emulator.json"),
});

/** Defines tests with a PostgreSQL server. They belong to the slow suites (`test/run.ts`). */
export function describeInPostgres(label: string, tests: (createStoreOptions: StoreOptionsFactory) => void): void {
  describe(`${label}, in PostgreSQL`, { skip: postgresSkipReason }, () => {
    const server = startPostgresServer();
    tests(async () => ({ store: server().url(), schema: server().freshSchema(), ephemeral: false }));
  });
}

/** Defines the same tests for each kind of store, for behavior that must be equal. */
export function describeForEachStore(label: string, tests: (createStoreOptions: StoreOptionsFactory) => void): void {
  describe(`${label}, in a file`, () => tests(placeInFile));
  describeInPostgres(label, tests);
}
