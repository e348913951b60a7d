import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { groupNames } from "../../src/cli/command-tree.ts";
import { environment } from "../../src/cli/config/environment.ts";
import { exitCodes } from "../../src/cli/exit.ts";
import { groups } from "../../src/cli/groups.ts";
import { outputFormats, topics } from "../../src/cli/help/topics.ts";
import { code, table } from "../../src/derive/reference/markdown.ts";
import { allCommands } from "../support/cli/all-commands.ts";
import { assertPart, readme, tableNamed } from "../support/cli/readme.ts";

const { engines, exports } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

/** The tables of the README, from what they tell of. */
const tables: Readonly<Record<string, () => Promise<string[]>>> = {
  commands: async () => {
    const commands = await allCommands();
    const rows = (await groupNames()).map((name) => {
      const verbs = new Set(commands.filter(({ words }) => words[0] === name).map(({ words }) => words[1]));
      const few = [...verbs].filter((verb) => verb !== undefined);
      return [code(`svc ${name}`), groups[name]!.summary, few.length > 8 ? `${few.length} commands` : few.join(", ")];
    });
    return table(["Group", "What for", "Commands"], rows);
  },
  topics: async () =>
    table(
      ["Topic", "What it tells"],
      Object.entries(topics).map(([name, { summary }]) => [code(name), summary]),
    ),
  formats: async () =>
    table(
      ["Flag", "Prints"],
      outputFormats.map(([flag, printed]) => [code(flag), printed]),
    ),
  "exit-codes": async () =>
    table(
      ["Code", "Meaning"],
      exitCodes.map((one) => [String(one.code), one.meaning]),
    ),
  environment: async () =>
    table(
      ["Variable", "What it does"],
      environment.map(([names, does]) => [names.split(", ").map(code).join(", "), does]),
    ),
};

describe("the README", () => {
  for (const [name, made] of Object.entries(tables)) {
    it(`has the table of ${name} as the command line makes it`, async () => {
      const now = tableNamed(name);
      assertPart(now, [now.split("\n")[0], "", ...(await made()), "", "<!-- end -->"].join("\n"));
    });
  }

  it("has no table of facts but these, and one of pages", () => {
    const heads = [...readme().matchAll(/^(\|.*\|)\n\|[-|]+\|$/gm)].map(([, head]) => head);
    assert.equal(heads.length, Object.keys(tables).length + 1, heads.join("\n"));
  });

  it("says what the package says: the version of Node, and every door", () => {
    assert.ok(readme().includes(`Node ${engines.node.replace(">=", "")} or later`));
    const doors = Object.keys(exports).filter((door) => door !== "./package.json");
    assert.deepEqual(
      doors.map((door) => `svc-toolkit${door.slice(1)}`).filter((door) => !readme().includes(`\`${door}\``)),
      [],
    );
  });
});
