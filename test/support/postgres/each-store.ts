import { join } from "node:path";
import { describe, type TestContext } from "node:test";
import type { EmulatorOptions } from "../../../emulator/index.ts";
import { createTestFolder } from "../cli/cli-emulator.ts";
import { postgresSkipReason, startPostgresServer } from "./server.ts";

/** Creates the options of an emulator with an empty store for one test. */
export type StoreOptionsFactory = (t: TestContext) => Promise<EmulatorOptions>;

/** Defines the same tests for each kind of store, for behavior that must be equal. */
export function describeForEachStore(what: string, tests: (place: StoreOptionsFactory) => void): void {
  describe(`${what}, in a file`, () => {
    tests(async (t) => ({ file: join(await createTestFolder(t), "emulator.json") }));
  });
  describe(`${what}, in PostgreSQL`, { skip: postgresSkipReason }, () => {
    const server = startPostgresServer();
    tests(async () => ({ store: server().url(), schema: server().freshSchema(), ephemeral: false }));
  });
}
