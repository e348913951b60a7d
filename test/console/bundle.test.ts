import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { brotliDecompressSync, gzipSync } from "node:zlib";
import { bundleConsole } from "../../build/console.ts";

describe("console bundle", () => {
  it("stays small, without schemas and Node.js code", async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "svc-console-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const { inputs } = await bundleConsole(folder);
    const files = readdirSync(folder).filter((name) => name.endsWith(".br"));
    const contents = files.map((name) => brotliDecompressSync(readFileSync(join(folder, name))));
    const bytes = contents.reduce((sum, content) => sum + gzipSync(content).length, 0);
    assert.ok(bytes <= 60_000, `${files.join(", ")} are ${bytes} bytes compressed by gzip`);
    assert.deepEqual(
      Object.keys(inputs).filter((path) => /node:|node_modules\/(?!preact\/|@preact\/)/.test(path)),
      [],
    );
    // Every other value of src/api is a declared table: operations are named by type alone.
    assert.deepEqual(
      Object.keys(inputs)
        .filter((path) => path.startsWith("src/api/") && !path.startsWith("src/api/webhook-health/"))
        .sort(),
      ["src/api/contracts/lifecycle.ts", "src/api/webhook-retries.ts"],
    );
  });
});
