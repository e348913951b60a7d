import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "node:test";
import { root } from "./repository.ts";

describe("npm run bench", () => {
  for (const [word, message] of [
    ["--help", "error: unknown option '--help'"],
    ["stor", "error: unknown benchmark 'stor'"],
  ] as const) {
    it(`runs no benchmark for ${word}`, () => {
      const argv = ["--import", "tsx", join(root, "test/bench/run.ts"), word];
      const { status, stdout, stderr } = spawnSync(process.execPath, argv, { cwd: root, encoding: "utf8" });
      assert.deepEqual([status, stdout, stderr.split("\n")[0]], [2, "", message]);
    });
  }
});
