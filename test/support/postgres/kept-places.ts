import { join } from "node:path";
import { describe, type TestContext } from "node:test";
import type { EmulatorOptions } from "../../../emulator/index.ts";
import { testFolder } from "../cli/cli-emulator.ts";
import { noPostgres, postgresServer } from "./server.ts";

/** Gives a test a place of its own where an emulator keeps its state. */
export type KeptPlace = (t: TestContext) => Promise<EmulatorOptions>;

/** The same tests wherever a state is kept, for what is to be the same there. */
export function whereverItIsKept(what: string, tests: (place: KeptPlace) => void): void {
  describe(`${what}, in a file`, () => {
    tests(async (t) => ({ file: join(await testFolder(t), "emulator.json") }));
  });
  describe(`${what}, in PostgreSQL`, { skip: noPostgres }, () => {
    const server = postgresServer();
    tests(async () => ({ store: server().url(), schema: server().freshSchema(), ephemeral: false }));
  });
}
