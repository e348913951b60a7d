import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Command } from "../../src/cli/command.ts";
import { loadWrittenCommands, writtenModules } from "../../src/cli/command-tree/written-commands.ts";
import { deriveSpecs } from "../../src/derive/specs.ts";

const specs = new Map(
  Object.values(deriveSpecs())
    .flat()
    .map((spec) => [spec.words.join(" "), spec]),
);

/** Shared code of two commands reads this flag, which only one of them has. */
const onlyOfSome = new Set(["integration-type"]);

const describeDerived = (command: Command) => {
  const { extendsDerived: base } = command;
  const spec = specs.get(typeof base === "string" ? base : command.words.join(" "));
  return {
    flags: (spec?.flags ?? []).map(({ flag, type, repeatable = false }) => ({ flag, type, repeatable })),
    positionals: (spec?.positionals ?? []).map(({ name }) => name),
  };
};

describe("derived fields of a hand-written command", async () => {
  const commands = await Promise.all(Object.keys(writtenModules).map(loadWrittenCommands));
  const readers = commands.flatMap((all) => all.map(([command]) => command)).filter((one) => one.readsDerived);

  it("lists each module under the groups of its commands", async () => {
    for (const [group, loaders] of Object.entries(writtenModules)) {
      for (const load of loaders) {
        const groups = (await load()).commands.map(({ words }) => words[0]!);
        assert.ok(groups.includes(group), group);
        for (const each of groups) assert.ok(writtenModules[each]?.includes(load), each);
      }
    }
  });

  it("exists in more than five commands", () => assert.ok(readers.length > 5, String(readers.length)));

  for (const command of readers) {
    it(`matches the derived command: ${command.words.join(" ")}`, () => {
      const derived = describeDerived(command);
      const { flags = [], positionals = [] } = command.readsDerived ?? {};
      const read = flags.map(({ flag, type, repeatable = false }) => ({ flag, type, repeatable }));
      const ownFlags = new Set(command.flags.map(({ flag }) => flag));
      assert.deepEqual(
        {
          extends: Boolean(command.extendsDerived),
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
