import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";

/**
 * Compares a string with a generated file, by its name in fixtures/golden or its path below the root of the project.
 * UPDATE_GOLDEN=1 rewrites the file instead, to be reviewed as a diff.
 */
export function assertGolden(name: string, actual: string): void {
  const goldenPath = name.includes("/") ? name : `fixtures/golden/${name}`;
  const path = new URL(`../../${goldenPath}`, import.meta.url);
  if (process.env.UPDATE_GOLDEN === "1") writeFileSync(path, actual);
  const expected = readFileSync(path, "utf8").split("\n");
  const lines = actual.split("\n");
  const at = lines.findIndex((line, i) => line !== expected[i]);
  const where = at < 0 ? expected.length : at + 1;
  // A diff of thousands of lines is unreadable, so only the first difference and its context are shown.
  assert.deepEqual(
    { line: where, text: lines.slice(Math.max(0, where - 3), where + 2), lines: lines.length },
    { line: where, text: expected.slice(Math.max(0, where - 3), where + 2), lines: expected.length },
    `${goldenPath} differs from line ${where} on; UPDATE_GOLDEN=1 rewrites it`,
  );
}
