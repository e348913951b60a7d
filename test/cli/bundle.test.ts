import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { bundle } from "../../build.ts";
import { deriveSpecs } from "../../src/derive/specs.ts";
import { testFolder } from "../support/cli-emulator.ts";

describe("the bundle", () => {
  it("loads nothing costly to parse or to help, and carries the specs that development derives", async (t) => {
    const folder = join(await testFolder(t), "dist");
    const { outputs } = await bundle(folder);
    const named = (entry: string) => Object.keys(outputs).find((path) => outputs[path]!.entryPoint === entry)!;
    const reached = new Set<string>();
    const follow = (path: string) => {
      if (reached.has(path) || !outputs[path]) return;
      reached.add(path);
      for (const { kind, path: next } of outputs[path].imports) if (kind === "import-statement") follow(next);
    };
    follow(named("src/cli/entry.ts"));
    const packages = new Set(
      [...reached]
        .flatMap((path) => Object.keys(outputs[path]!.inputs))
        .flatMap((input) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1] ?? []),
    );
    assert.deepEqual([...packages], ["commander"]);

    const specs = deriveSpecs();
    assert.deepEqual(
      readdirSync(join(folder, "specs")).sort(),
      [...Object.keys(specs), "groups"].map((name) => `${name}.json`).sort(),
    );
    for (const [group, commands] of Object.entries(specs)) {
      assert.deepEqual(
        JSON.parse(readFileSync(join(folder, "specs", `${group}.json`), "utf8")),
        JSON.parse(JSON.stringify(commands)),
      );
    }
  });
});
