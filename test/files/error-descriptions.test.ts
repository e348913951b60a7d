import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { describeFsError } from "../../src/files/disk.ts";
import { createTemporaryFolder } from "../support/store.ts";

const requireFailure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => assert.fail("nothing was refused"),
    (error) => error,
  );

describe("file system error description", () => {
  it("includes the path of the file", async (t) => {
    const folder = await createTemporaryFolder(t);
    // Node 26 reports the path of a folder, too.
    const isFolder = describeFsError(await requireFailure(readFile(folder)))?.replace(` at ${folder}`, "");
    assert.equal(isFolder, "it is a folder (EISDIR)");
    const missing = join(folder, "missing");
    assert.equal(describeFsError(await requireFailure(readFile(missing))), `it does not exist (ENOENT at ${missing})`);
  });

  it("is undefined for a program that cannot start and for a socket", async (t) => {
    const folder = await createTemporaryFolder(t);
    const program = join(folder, "program");
    await writeFile(program, "", { mode: 0o600 });
    const [notStarted] = await once(spawn(program), "error");
    assert.equal(notStarted.code, "EACCES");
    assert.equal(describeFsError(notStarted), undefined);

    const [notBound] = await once(createServer().listen(join(folder, "missing", "socket")), "error");
    assert.equal(notBound.code, "EACCES");
    assert.equal(describeFsError(notBound), undefined);
  });

  it("is undefined for a programming error", () => {
    assert.equal(describeFsError(new TypeError("x is not a function")), undefined);
  });
});
