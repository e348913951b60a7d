import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import * as z from "zod";
import { collections } from "../../../emulator/compose/state/collections.ts";
import { blobCollections } from "../../../emulator/compose/state/initial-state.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { startTestEmulator, type TestEmulator } from "../../support/emulator.ts";

/** Uploads a file of a workspace and returns the hash of its bytes. */
async function upload({ api }: TestEmulator, text: string): Promise<string> {
  const files = [{ filename: "msa.pdf", content_type: "application/pdf" }];
  const { body } = await api("POST", "/api/v2.1/public/workspace/files/uploads/", { body: { files } });
  const [{ upload_url: url }] = (body as { files: [{ upload_url: string }] }).files;
  const response = await fetch(url, { method: "PUT", body: text, headers: { "content-type": "application/pdf" } });
  assert.equal(response.status, 200);
  return createHash("sha256").update(text).digest("hex");
}

it("unreferenced uploads are removed at a start 30 days after a reset", async (t) => {
  const cwd = await createTestFolder(t);
  const [file, folder] = [join(cwd, "emulator.json"), join(cwd, "files")];
  const lines: string[] = [];
  const start = (historyBytes = 0) =>
    startTestEmulator(t, { file, historyBytes, clock: { mode: "manual" }, log: (line) => lines.push(line) });

  const first = await start();
  const snapshotFile = await upload(first, "of a snapshot");
  assert.equal((await first.control("PUT", "snapshots/uploaded")).status, 201);
  const unreferenced = await upload(first, "before the reset");
  assert.equal((await first.control("POST", "reset")).status, 204);
  const stays = await upload(first, "after the reset");
  await first.close();
  await (await start()).close();

  // Advances the wall clock by a month.
  const note = join(folder, "svc-unnamed.json");
  const long = "2001-01-01T00:00:00.000Z";
  const { unnamed_since } = JSON.parse(await readFile(note, "utf8")) as { unnamed_since: Record<string, string> };
  assert.deepEqual(Object.keys(unnamed_since), [unreferenced]);
  await writeFile(
    note,
    JSON.stringify({ looked_at: long, unnamed_since: { [unreferenced]: long, [stays]: long, [snapshotFile]: long } }),
  );
  for (const name of [unreferenced, stays, snapshotFile])
    await utimes(join(folder, name), new Date(long), new Date(long));
  await start();
  assert.deepEqual((await readdir(folder)).sort(), [stays, snapshotFile, "svc-unnamed.json"].sort());
  assert.deepEqual(lines, ["removed 1 uploaded files that were unreferenced for 30 days"]);
});

it("uploads remain while the history refers to them", async (t) => {
  const cwd = await createTestFolder(t);
  const [file, folder] = [join(cwd, "emulator.json"), join(cwd, "files")];
  const first = await startTestEmulator(t, { file });
  const past = await upload(first, "of the past");
  await first.control("POST", "reset");
  await first.close();
  await (await startTestEmulator(t, { file })).close();
  const { unnamed_since } = JSON.parse(await readFile(join(folder, "svc-unnamed.json"), "utf8"));
  assert.deepEqual([unnamed_since, (await readdir(folder)).includes(past)], [{}, true]);
});

it("importing a state restarts the 30 days of unreferenced uploads", async (t) => {
  const cwd = await createTestFolder(t);
  const [file, folder] = [join(cwd, "emulator.json"), join(cwd, "files")];
  const first = await startTestEmulator(t, { file });
  const hash = await upload(first, "exported");
  const state = (await first.control("GET", "state")).body;
  await first.control("POST", "reset");
  await first.close();
  const second = await startTestEmulator(t, { file });
  assert.deepEqual((await readdir(folder)).sort(), [hash, "svc-unnamed.json"].sort());
  assert.equal((await second.control("PUT", "state", { body: state })).status, 200);
  assert.deepEqual(await readdir(folder), [hash]);
});

it("every collection with references to uploaded bytes is checked", () => {
  const naming = collections.filter(
    (collection) =>
      collection.kind === "rows" &&
      JSON.stringify(z.toJSONSchema(collection.schema, { unrepresentable: "any" })).includes("sha256"),
  );
  assert.deepEqual(naming.map(({ name }) => name).sort(), blobCollections.map(({ name }) => name).sort());
});
