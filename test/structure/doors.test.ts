import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, it } from "node:test";
import { strictChecks } from "../../src/api/control-plane.ts";
import { getBundleFolder } from "../support/shipped.ts";

/** Lists the run-time names that published types declare. */
const listExportedValues = (types: string): string[] =>
  [...types.matchAll(/^export (?:declare )?(?:abstract )?(?:class|const|function) (\w+)/gm)].map(([, name]) => name!);

describe("package entry point", () => {
  for (const door of ["emulator", "client", "webhooks"]) {
    it(`${door} exports exactly its declared types`, async () => {
      const bundle = join(getBundleFolder(), door);
      const imported = Object.keys(await import(`${bundle}.js`)).sort();
      const required = Object.keys(createRequire(import.meta.url)(`${bundle}.cjs`)).sort();
      for (const kind of ["ts", "cts"]) {
        const published = listExportedValues(readFileSync(`${bundle}.d.${kind}`, "utf8")).sort();
        assert.deepEqual({ imported, required }, { imported: published, required: published });
      }
    });
  }

  it("exports the list of strict checks of an emulator", () => {
    const types = readFileSync(join(getBundleFolder(), "emulator.d.ts"), "utf8");
    assert.ok(types.includes(`Relaxed checks to turn off: ${strictChecks.join(", ")}.`));
  });
});
