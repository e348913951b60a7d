import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import { findExpressions, findSlowExpressions } from "./expressions.ts";
import { sources } from "./repository.ts";

const createFile = (...lines: readonly string[]) => ({ path: "src/x.ts", text: lines.join("\n") });

describe("check of regular expressions", () => {
  it("finds expressions outside comments and strings", () =>
    assert.deepEqual(
      findExpressions([
        createFile("// /a+$/", "const a = '/b+$/';", "const b = 4 / 2 / 1;", "if (/c+$/u.test(a)) b.split(/,/);"),
      ]),
      {
        literals: [
          { source: "c+$", flags: "u", at: "src/x.ts:4" },
          { source: ",", flags: "", at: "src/x.ts:4" },
        ],
        created: [],
      },
    ));

  it("finds expressions created at run time", () =>
    assert.deepEqual(findExpressions([createFile("new RegExp(a);", 'RegExp("x");')]).created, [
      "src/x.ts:1",
      "src/x.ts:2",
    ]));

  it("finds expressions that take quadratic or exponential time", () =>
    assert.deepEqual(
      findSlowExpressions(
        findExpressions([createFile("/=+$/;", "/^=+$/;", "/(a|a)*b/;", "/\\s*\\n/;", "/^\\s*x/;")]).literals,
      ),
      [
        "src/x.ts:1 /=+$/ is 2nd degree polynomial",
        "src/x.ts:3 /(a|a)*b/ is exponential",
        "src/x.ts:4 /\\s*\\n/ is 2nd degree polynomial",
      ],
    ));

  const { literals, created } = findExpressions(sources);

  it("finds no expression created at run time in the sources", () => assert.deepEqual(created, []));

  it("finds only linear-time expressions in the sources", () => {
    assert.ok(literals.length > 150, `${literals.length} were found`);
    assert.deepEqual(findSlowExpressions(literals), []);
  });

  it("finds only linear-time expressions in the schema library", () => {
    const { email, uuid } = z.regexes;
    const formats = { email, uuid: uuid(), datetime: z.regexes.datetime({ offset: true }) };
    const theirs = Object.entries(formats).map(([at, { source, flags }]) => ({ source, flags, at }));
    assert.deepEqual(findSlowExpressions(theirs), []);
  });
});
