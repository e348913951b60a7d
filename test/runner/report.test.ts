import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { it } from "node:test";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { program } from "../support/program.ts";

it("tells where a test and what failed in it stand in the sources", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "svc-report-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const source = join(folder, "some.ts");
  const lines = ["type Gone = string;", "const lost = (what: Gone) => {", "  throw new Error(what);", "};"];
  await writeFile(source, ['import { it } from "node:test";', ...lines, 'it("fails", () => lost("lost"));'].join("\n"));
  const compiled = join(folder, "some.test.js");
  await build({ entryPoints: [source], outfile: compiled, format: "esm", sourcemap: "linked", logLevel: "error" });
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  const { stdout } = spawnSync(
    process.execPath,
    ["--test", `--test-reporter=${pathToFileURL(program("report"))}`, compiled],
    { encoding: "utf8", env: { ...process.env, NODE_TEST_CONTEXT: undefined } },
  );
  const told = relative(".", source);
  assert.match(stdout, /Error: lost/);
  const places = [...stdout.matchAll(/(\S*some\.(?:ts|test\.js):\d+:\d+)/g)].map(([, place]) =>
    place!.replace("(", ""),
  );
  assert.deepEqual([...new Set(places)].sort(), [`${told}:4:9`, `${told}:6:1`, `${told}:6:19`].sort(), stdout);
});
