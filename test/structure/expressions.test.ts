import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import { expressionsIn, slowOnes } from "./expressions.ts";
import { sources } from "./repository.ts";

const file = (...lines: readonly string[]) => ({ path: "src/x.ts", text: lines.join("\n") });

describe("regular expressions", () => {
  it("are found everywhere except in comments and strings", () =>
    assert.deepEqual(
      expressionsIn([
        file("// /a+$/", "const a = '/b+$/';", "const b = 4 / 2 / 1;", "if (/c+$/u.test(a)) b.split(/,/);"),
      ]),
      {
        literals: [
          { source: "c+$", flags: "u", at: "src/x.ts:4" },
          { source: ",", flags: "", at: "src/x.ts:4" },
        ],
        made: [],
      },
    ));

  it("that are created at run time are found", () =>
    assert.deepEqual(expressionsIn([file("new RegExp(a);", 'RegExp("x");')]).made, ["src/x.ts:1", "src/x.ts:2"]));

  it("that take quadratic time, or worse, are found", () =>
    assert.deepEqual(
      slowOnes(expressionsIn([file("/=+$/;", "/^=+$/;", "/(a|a)*b/;", "/\\s*\\n/;", "/^\\s*x/;")]).literals),
      [
        "src/x.ts:1 /=+$/ is 2nd degree polynomial",
        "src/x.ts:3 /(a|a)*b/ is exponential",
        "src/x.ts:4 /\\s*\\n/ is 2nd degree polynomial",
      ],
    ));

  const { literals, made } = expressionsIn(sources);

  it("are all known before the program runs", () => assert.deepEqual(made, []));

  it("all take linear time", () => {
    assert.ok(literals.length > 150, `${literals.length} were found`);
    assert.deepEqual(slowOnes(literals), []);
  });

  it("of the schema library that declarations use take linear time too", () => {
    const { email, uuid } = z.regexes;
    const formats = { email, uuid: uuid(), datetime: z.regexes.datetime({ offset: true }) };
    const theirs = Object.entries(formats).map(([at, { source, flags }]) => ({ source, flags, at }));
    assert.deepEqual(slowOnes(theirs), []);
  });
});
