import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { startSvcProcess } from "../../support/cli/start-svc.ts";

/** The file handles of Yarn 4 with Plug'n'Play (ZipOpenFS) throw for these methods. */
const preload = `
import { open } from "node:fs/promises";
const file = await open(process.execPath);
const throwError = () => { throw new Error("Method not implemented."); };
Object.assign(Object.getPrototypeOf(file), { sync: throwError, datasync: throwError, utimes: throwError, readv: throwError });
await file.close();
`;

describe("svc with the file handles of Yarn's Plug'n'Play", () => {
  it("stores the state of an emulator and a job", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "preload.mjs"), preload);
    await writeFile(join(cwd, "people.txt"), "ada@example.com\n");
    const argv = ["router", "map-emails", "people.txt", "--cluster", "eu-1", "--emulator"];
    const env = { NODE_OPTIONS: `--import ${join(cwd, "preload.mjs")}` };
    const svc = await startSvcProcess(t, argv, { cwd, env });
    const [exit] = await once(svc.child, "close");
    assert.deepEqual([exit, svc.stdout()], [0, "Mapped 1 e-mail to eu-1\n"], svc.stderr());
  });
});
