import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { allPaths, sources, tests } from "./repository.ts";
import { drawersIn, sizesOf } from "./sizes.ts";

const lines = (path: string, count: number) => ({ path, text: "x\n".repeat(count) });

/** Longer than 400 lines, and why that is better than two files. */
const longWithReason: Readonly<Record<string, string>> = {
  "src/api/emulator/failures.ts": "A table: the declared failures of the control plane.",
  "emulator/published.d.ts": "The package publishes it as it is, in one file.",
};

describe("the size of files", () => {
  it("is measured in lines", () =>
    assert.deepEqual(sizesOf([lines("a", 10), lines("b", 20), lines("c", 400), lines("d", 401)]), {
      median: 400,
      p90: 401,
      long: ["d"],
    }));

  it("has a median of at most 120 and a 90th percentile of at most 250", () => {
    const { median, p90 } = sizesOf(sources);
    assert.ok(median <= 120 && p90 <= 250, `median ${median}, 90th percentile ${p90}`);
  });

  it("exceeds 400 only with a reason", () =>
    assert.deepEqual(sizesOf([...sources, ...tests]).long, Object.keys(longWithReason)));
});

describe("the names of files", () => {
  it("that are too general are found", () =>
    assert.deepEqual(
      drawersIn([
        "src/utils/x.ts",
        "src/helpers.ts",
        "a/common/b.ts",
        "misc.md",
        "src/libertine.ts",
        "src/calibrate.ts",
      ]),
      ["src/utils/x.ts", "src/helpers.ts", "a/common/b.ts", "misc.md"],
    ));

  it("name a subject", () => assert.deepEqual(drawersIn(allPaths), []));

  it("at the top level are those that newcomers expect", () =>
    assert.deepEqual(
      [...new Set(allPaths.map((path) => path.split("/")[0]!))].filter((name) => !name.startsWith(".")).toSorted(),
      [
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "README.md",
        // The place in which GitHub looks for the action of a repository.
        "action.yml",
        "bin",
        "biome.json",
        "build",
        "docs",
        "emulator",
        "fixtures",
        "package-lock.json",
        "package.json",
        "src",
        "test",
        "tsconfig.json",
      ],
    ));
});
