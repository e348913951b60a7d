import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { findDeadReferences, parseRowIds } from "./citations.ts";
import { allPaths, documents, rootFiles, sources, tests } from "./repository.ts";

const decisions = "emulator/DECISIONS.md";
const rows = parseRowIds(documents.find(({ path }) => path === decisions)?.text ?? "");

describe("check of decision references", () => {
  const findReferences = (text: string, path = "src/a/b.ts") =>
    findDeadReferences([{ path, text }], new Set(["R1", "R12", "C18"]), [decisions, "src/a/NOTES.md"]);

  it("accepts references to rows of DECISIONS.md", () =>
    assert.deepEqual(
      parseRowIds("| # | about |\n|---|---|\n| R1 | one |\n| C18 | two, not R3 |\nR4 is no row\n"),
      new Set(["R1", "C18"]),
    ));

  it("finds references in comments, strings and across lines", () =>
    assert.deepEqual(
      [
        "/** One (DECISIONS.md, R1). */",
        "// Two (DECISIONS.md, R1 and C18; RFC 8628).",
        "/**\n * Three (DECISIONS.md,\n * R12, C18).\n */",
        'const why = "Nobody says it (DECISIONS.md, R12).";',
        "/** Beside it: NOTES.md, and emulator/DECISIONS.md. */",
      ].flatMap((text) => findReferences(text)),
      [],
    ));

  it("reports a reference to a missing row", () =>
    assert.deepEqual(findReferences("/** One (DECISIONS.md, R1, R99 and C7). */"), [
      "src/a/b.ts cites R99, which DECISIONS.md does not have",
      "src/a/b.ts cites C7, which DECISIONS.md does not have",
    ]));

  it("reports a reference without its page, in comments and messages", () =>
    assert.deepEqual(
      ["/** It counts (C18). */", "// As R12 says.", 'const why = "Not shown (R1).";', "We do C18."].map((text, at) =>
        findReferences(text, at === 3 ? "README.md" : undefined),
      ),
      [
        ["src/a/b.ts cites C18 without its page"],
        ["src/a/b.ts cites R12 without its page"],
        ["src/a/b.ts cites R1 without its page"],
        ["README.md cites C18 without its page"],
      ],
    ));

  it("ignores code", () => assert.deepEqual(findReferences('const channel = "C18"; f(R1 + 1);'), []));

  it("reports a reference to a missing page", () =>
    assert.deepEqual(findReferences("/** See facts.md, 4.1, and docs/DECISIONS.md. */"), [
      "src/a/b.ts names facts.md, which is not in the project",
      "src/a/b.ts names docs/DECISIONS.md, which is not in the project",
    ]));

  it("finds only valid references in the repository", () => {
    // The page itself names its rows, and this test contains invalid examples.
    const all = [...sources, ...rootFiles, ...documents, ...tests].filter(
      ({ path }) => path !== decisions && !path.startsWith("test/structure/citations"),
    );
    assert.deepEqual(findDeadReferences(all, rows, allPaths), []);
  });
});
