import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { startEmulator } from "../../../emulator/index.ts";
import { isBlobName } from "../../../emulator/store/file/file-blobs.ts";
import { sender } from "../../support/emulator.ts";
import { assertGolden } from "../../support/golden.ts";
import { temporaryFolder } from "../../support/store.ts";

/** States that earlier versions wrote, a folder for each format, with what is in them as an export tells it. */
const states = fileURLToPath(new URL("../../../fixtures/states/", import.meta.url));
const all = readdirSync(states).flatMap((format) =>
  readdirSync(join(states, format), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => `${format}/${entry.name}`),
);

/** Opens a copy as a user would, and shows all that is in it. */
async function shown(t: TestContext, folder: string): Promise<{ state: string; uploads: string[] }> {
  const file = join(folder, "emulator.json");
  const emulator = await startEmulator({ file, clock: { mode: "manual" }, token: "control" });
  t.after(() => emulator.close());
  const ask = sender(emulator.controlUrl, { authorization: "Bearer control" });
  const { status, body } = await ask("GET", "state");
  assert.equal(status, 200);
  await emulator.close();
  const sections = body as Sections;
  // Beside the uploads stands a note about them.
  const names = (await readdir(join(folder, "files"))).filter(isBlobName);
  const uploads = await Promise.all(
    names.map(async (name) => {
      const hash = createHash("sha256").update(await readFile(join(folder, "files", name)));
      assert.equal(hash.digest("hex"), name);
      return name;
    }),
  );
  // Every upload that a row refers to is there.
  const referred = [...JSON.stringify(sections.rows).matchAll(/"sha256":"([0-9a-f]{64})"/g)].map(([, hash]) => hash!);
  assert.deepEqual([...new Set(referred)].sort(), uploads.sort());
  return { state: lines(sections), uploads };
}

/** A row a line, so that a difference shows as the row that differs. */
const lines = ({ sequences, rows, mappings }: Sections): string =>
  [
    JSON.stringify(sequences),
    ...Object.entries(rows).flatMap(([name, list]) => list.map((row) => `${name} ${JSON.stringify(row)}`)),
    ...Object.entries(mappings).flatMap(([name, owners]) => Object.entries(owners).map((pair) => `${name} ${pair}`)),
    "",
  ].join("\n");

interface Sections {
  readonly sequences: Readonly<Record<string, number>>;
  readonly rows: Readonly<Record<string, readonly object[]>>;
  readonly mappings: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

describe("states of earlier formats", () => {
  it("are kept, each as a crash and as a close left it", () => {
    assert.ok(all.includes("1/killed") && all.includes("1/closed"));
  });

  for (const name of all) {
    it(`${name} opens with everything in it, and again in the form of today`, async (t) => {
      const folder = await temporaryFolder(t);
      await cp(join(states, name), folder, { recursive: true });
      const { state, uploads } = await shown(t, folder);
      assertGolden(`../states/${name}.export.txt`, state);
      assert.deepEqual((await readdir(folder)).sort(), ["emulator.json", "files"]);
      assert.deepEqual(await shown(t, folder), { state, uploads });
    });
  }
});
