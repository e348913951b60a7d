import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { allPaths, sources, tests } from "./repository.ts";
import { findDrawers, findWideComments, measureSizes } from "./sizes.ts";

const createFileOfLines = (path: string, count: number) => ({ path, text: "x\n".repeat(count) });

/** Files of more than 400 lines, with the reason why they are not split. */
const longWithReason: Readonly<Record<string, string>> = {
  "emulator/published.d.ts": "The package publishes it as it is, in one file.",
};

describe("file size check", () => {
  it("counts lines", () =>
    assert.deepEqual(
      measureSizes([
        createFileOfLines("a", 10),
        createFileOfLines("b", 20),
        createFileOfLines("c", 400),
        createFileOfLines("d", 401),
      ]),
      { median: 400, p90: 401, longFiles: ["d"] },
    ));

  it("allows a median of 144 lines and a 90th percentile of 250", () => {
    const { median, p90 } = measureSizes(sources);
    assert.ok(median <= 144 && p90 <= 250, `median ${median}, 90th percentile ${p90}`);
  });

  it("requires a reason for more than 400 lines", () =>
    assert.deepEqual(measureSizes([...sources, ...tests]).longFiles, Object.keys(longWithReason)));
});

describe("comment width check", () => {
  it("reports comments of more than 120 columns", () => {
    const words = "x".repeat(117);
    const text = [`// ${words}`, `// ${words}x`, `  * ${words}`, `const a = "${words}";`, `// http://${words}`].join(
      "\n",
    );
    assert.deepEqual(findWideComments([{ path: "a.ts", text }]), ["a.ts:2", "a.ts:3"]);
  });

  it("finds no wider comment in the repository", () => assert.deepEqual(findWideComments([...sources, ...tests]), []));
});

describe("file name check", () => {
  it("reports names that are too general", () =>
    assert.deepEqual(
      findDrawers([
        "src/utils/x.ts",
        "src/helpers.ts",
        "a/common/b.ts",
        "misc.md",
        "src/libertine.ts",
        "src/calibrate.ts",
      ]),
      ["src/utils/x.ts", "src/helpers.ts", "a/common/b.ts", "misc.md"],
    ));

  it("finds only specific names in the repository", () => assert.deepEqual(findDrawers(allPaths), []));

  it("allows only conventional names at the top level", () =>
    assert.deepEqual(
      [...new Set(allPaths.map((path) => path.split("/")[0]!))].filter((name) => !name.startsWith(".")).toSorted(),
      [
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "README.md",
        // The path at which GitHub expects the action of a repository.
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
