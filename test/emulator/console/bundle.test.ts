import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import type { Emulator } from "../../../emulator/index.ts";
import { getBundleFolder, readConsoleMetafile, readMetafile } from "../../support/shipped.ts";

const dist = getBundleFolder();
const folder = join(dist, "console");

describe("shipped console", () => {
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

  it("consists of separate files that neither the emulator nor the CLI loads", () => {
    const loadsConsole = (path: string) => /^(src\/console|node_modules\/@?preact)\//.test(path);
    const holding = Object.entries(readMetafile().outputs)
      .filter(
        ([name, { inputs }]) =>
          /\.c?js$/.test(name) && !name.includes("/console/") && Object.keys(inputs).some(loadsConsole),
      )
      .map(([name]) => name);
    assert.deepEqual(holding, []);
    assert.ok(Object.keys(readConsoleMetafile().inputs).some(loadsConsole));
  });

  it("requests nothing from other origins", () => {
    const files = readdirSync(folder).filter((name) => name.endsWith(".br"));
    const loads = /(?:@import|url\(|import\(|from\s*)["']?(?:https?:)?\/\//;
    assert.deepEqual(
      files.filter((name) => loads.test(brotliDecompressSync(readFileSync(join(folder, name))).toString())),
      [],
    );
  });
});
