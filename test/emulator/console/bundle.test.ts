import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import type { Emulator } from "../../../emulator/index.ts";
import { consoleMetafile, shippedBundle } from "../../support/shipped.ts";

const dist = shippedBundle();
const folder = join(dist, "console");

describe("the shipped console", () => {
  it("is served by the shipped emulator, as a module and as CommonJS", async (t) => {
    const asModule = await import(pathToFileURL(join(dist, "emulator.js")).href);
    const asCommonJs = createRequire(import.meta.url)(join(dist, "emulator.cjs"));
    for (const { startEmulator } of [asModule, asCommonJs]) {
      const emulator: Emulator = await startEmulator({});
      t.after(() => emulator.close());
      const page = await (await fetch(`${emulator.controlUrl}/ui/`)).text();
      const script = await fetch(`${emulator.controlUrl}/ui/${/assets\/main-\w+\.js/.exec(page)?.[0]}`);
      assert.deepEqual([script.status, script.headers.get("content-type")], [200, "text/javascript; charset=utf-8"]);
    }
  });

  it("is in separate files, which neither the emulator nor the command line loads", () => {
    const code = readdirSync(dist).filter((name) => /\.c?js$/.test(name));
    // Above each module the bundler says where it is from.
    const holding = code.filter((name) =>
      /^\s*\/\/ (src\/console|node_modules\/@?preact)\//m.test(text(join(dist, name))),
    );
    assert.deepEqual(holding, []);
    assert.ok(Object.keys(consoleMetafile().inputs).some((path) => path.includes("/preact/")));
  });

  it("is at most 60 kB, compressed, and requests nothing from other origins", () => {
    const files = readdirSync(folder).filter((name) => name !== "manifest.json" && !name.endsWith(".br"));
    const weights = files.map((name) => statSync(join(folder, `${name}.br`)).size);
    const sum = weights.reduce((all, one) => all + one, 0);
    assert.ok(sum <= 60_000, `${files.map((name, i) => `${name} ${weights[i]}`).join(", ")}: ${sum}`);
    const loads = /(?:@import|url\(|import\(|from\s*)["']?(?:https?:)?\/\//;
    assert.deepEqual(
      files.filter((name) => loads.test(text(join(folder, name)))),
      [],
    );
  });
});

const text = (path: string): string => readFileSync(path, "utf8");
