import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";

interface LockedPackage {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/**
 * Lists the entries that make `npm ci` reject a lock file: optional packages of other platforms that are named but
 * not locked.
 */
function findUnlockedPackages(packages: Readonly<Record<string, LockedPackage>>): string[] {
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter(
      (name) => !packages[`node_modules/${name}`] && !packages[`${path}/node_modules/${name}`],
    ),
  );
}

describe("package lock file", () => {
  it("contains the optional packages of every platform for npm ci", () => {
    const text = readFileSync(new URL("../../package-lock.json", import.meta.url), "utf8");
    assert.deepEqual(findUnlockedPackages(JSON.parse(text).packages), []);
  });

  it("fails the check if an optional package is missing", () => {
    assert.deepEqual(
      findUnlockedPackages({
        "node_modules/a": { optionalDependencies: { "a-linux": "1", "a-mac": "1" } },
        "node_modules/a-linux": {},
      }),
      ["a-mac"],
    );
  });
});
