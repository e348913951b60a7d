import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Command } from "../../src/cli/command.ts";
import { writtenModules } from "../../src/cli/command-tree/written-commands.ts";
import { deriveSpecs } from "../../src/derive/specs.ts";

const specs = new Map(
  Object.values(deriveSpecs())
    .flat()
    .map((spec) => [spec.words.join(" "), spec]),
);

/** Shared code of two commands reads this flag, which only one of them has. */
const onlyOfSome = new Set(["integration-type"]);

const describeDerived = (command: Command) => {
  const spec = specs.get(command.words.join(" "));
  return {
    flags: (spec?.flags ?? []).map(({ flag, type, repeatable = false }) => ({ flag, type, repeatable })),
    positionals: (spec?.positionals ?? []).map(({ name }) => name),
  };
};

describe("derived fields of a hand-written command", async () => {
  const loaded = await Promise.all(
    writtenModules.map(async ([load, ...words]) => ({ words, commands: (await load()).commands })),
  );
  const readers = loaded.flatMap(({ commands }) => commands).filter((one) => one.readsDerived !== undefined);

  it("matches the words of each module with its commands", () =>
    assert.deepEqual(
      loaded.map(({ words }) => words),
      loaded.map(({ commands }) => commands.map((command) => command.words.join(" "))),
    ));

  it("exists in more than five commands", () => assert.ok(readers.length > 5, String(readers.length)));

  for (const command of readers) {
    it(`matches the derived command: ${command.words.join(" ")}`, () => {
      const derived = describeDerived(command);
      const { flags = [], positionals = [] } = command.readsDerived ?? {};
      const read = flags.map(({ flag, type, repeatable = false }) => ({ flag, type, repeatable }));
      const ownFlags = new Set(command.flags.map(({ flag }) => flag));
      assert.deepEqual(
        {
          extends: command.extendsDerived,
          flags: read.filter(
            (flagSpec) =>
              !ownFlags.has(flagSpec.flag) &&
              !onlyOfSome.has(flagSpec.flag) &&
              !derived.flags.some((known) => JSON.stringify(known) === JSON.stringify(flagSpec)),
          ),
          positionals: positionals.map(({ name }) => name).filter((name) => !derived.positionals.includes(name)),
        },
        { extends: true, flags: [], positionals: [] },
      );
    });
  }
});
