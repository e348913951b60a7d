import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { it } from "node:test";
import { registry } from "../../src/api/registry.ts";
import { emulatorStart } from "../../src/cli/commands/emulator/start.ts";
import { globalFlags } from "../../src/cli/parse/globals.ts";
import { environmentVariables } from "../../src/cli/process/environment.ts";

const folder = new URL("../../fixtures/deploy/", import.meta.url);
/** Content of the examples for tools, without comments. */
const files = new Map(
  readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), "utf8").replace(/^\s*#.*$/gm, "")]),
);
/** Flags of npm, and of instructions in a Dockerfile. */
const foreign = new Set(["--global", "--prefix", "--from", "--interval", "--timeout", "--start-period", "--retries"]);

it("deployment examples contain only existing flags, variables and paths", () => {
  const flags = new Set<string>([...emulatorStart.flags, ...globalFlags].map(({ flag }) => `--${flag}`));
  const variables = new Set(environmentVariables.flatMap(([names]) => names.split(", ")));
  const paths = new Set<string>(registry.map(({ path }) => path));
  const unknownWords: string[] = [];
  let wordCount = 0;
  for (const [name, text] of files) {
    const words = [
      ...(text.match(/(?<![\w-])--[a-z][a-z-]+/g) ?? []).filter((flag) => !foreign.has(flag) && !flags.has(flag)),
      ...(text.match(/SVC_[A-Z_]+/g) ?? []).filter((variable) => !variables.has(variable)),
      ...(text.match(/\/_emulator\/\w+/g) ?? []).filter((path) => !paths.has(path)),
    ];
    unknownWords.push(...words.map((word) => `${name}: ${word}`));
    wordCount += (text.match(/(?<![\w-])--[a-z]|SVC_|\/_emulator\//g) ?? []).length;
  }
  assert.deepEqual(unknownWords, []);
  assert.ok(wordCount > 10);
});
