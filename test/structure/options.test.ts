import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { globalFlags } from "../../src/cli/parse/globals.ts";
import type { CommandDeclaration } from "../../src/derive/command-spec.ts";
import { loadAllCommands } from "../support/cli/all-commands.ts";
import { findUnknownOptions } from "./options.ts";
import { readFilesIn } from "./repository.ts";

const global = ["help", ...globalFlags.map(({ flag }) => flag)];

describe("check of command-line options in messages", () => {
  it("ignores comments and style sheets", () => {
    const command = { flags: [{ flag: "allowed-host" }] } as unknown as CommandDeclaration;
    const text = `
      // --never
      const css = "main { --strong: 1; color: var(--strong) }";
      say("start it with --allowed-host or --allow-host", "--json");`;
    assert.deepEqual(findUnknownOptions([{ path: "a.ts", text }], [command], ["json"]), ["a.ts names --allow-host"]);
  });

  it("finds only existing options", async () => {
    const files = ["src/api", "src/client", "emulator"].flatMap((folder) => readFilesIn(folder));
    assert.deepEqual(findUnknownOptions(files, await loadAllCommands(), global), []);
  });
});
