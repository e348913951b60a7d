import assert from "node:assert/strict";
import { readdir, readFile, readlink, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openSavedDeliveries, readSavedHeaders } from "../../../src/cli/commands/webhooks/saved-deliveries.ts";
import type { Host } from "../../../src/cli/process/host.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";

const createDelivery = (text: string) => ({ body: Buffer.from(text), headers: { "x-of": text } });

describe("saved deliveries", () => {
  it("stores deliveries with their own headers when two listeners share a folder", async (t) => {
    const cwd = await createTestFolder(t);
    const [first, second] = [await openSavedDeliveries(cwd), await openSavedDeliveries(cwd)];
    const texts = Array.from({ length: 10 }, (_, i) => `delivery ${i}`);
    const paths = await Promise.all(
      texts.map((text, i) => (i % 2 ? first : second).add("SIGNED", createDelivery(text))),
    );
    assert.equal(new Set(paths).size, texts.length);
    assert.deepEqual(await Promise.all(paths.map((path) => readFile(path, "utf8"))), texts);
    const headers = await Promise.all(paths.map((path) => readSavedHeaders({ cwd } as Host, path)));
    assert.deepEqual(
      headers,
      texts.map((text) => ({ "x-of": text })),
    );
    assert.equal((await readdir(cwd)).length, 2 * texts.length);
  });

  it("neither follows a symbolic link nor overwrites an existing file", async (t) => {
    const cwd = await createTestFolder(t);
    const saved = await openSavedDeliveries(cwd);
    await writeFile(join(cwd, "theirs"), "mine");
    await symlink("theirs", join(cwd, "0001-SIGNED.json"));
    await symlink("nowhere", join(cwd, "0002-SIGNED.headers"));
    await writeFile(join(cwd, "0003-SIGNED.headers"), "mine");
    assert.equal(await saved.add("SIGNED", createDelivery("new")), join(cwd, "0004-SIGNED.json"));
    assert.equal(await readFile(join(cwd, "theirs"), "utf8"), "mine");
    assert.equal(await readlink(join(cwd, "0002-SIGNED.headers")), "nowhere");
    const names = ["0001-SIGNED.json", "0002-SIGNED.headers", "0003-SIGNED.headers", "0004-SIGNED.headers"];
    assert.deepEqual((await readdir(cwd)).sort(), [...names, "0004-SIGNED.json", "theirs"].sort());
  });
});
