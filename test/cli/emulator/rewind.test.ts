import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTestFolder, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { placeInFile } from "../../support/postgres/each-store.ts";
import { testRewindCommand } from "./rewinds.ts";

describe("svc emulator rewind, in a file", () => testRewindCommand(placeInFile));

describe("svc emulator rewind", () => {
  it("explains missing or conflicting targets and a missing or short history", async (t) => {
    const { svc } = await startCliEmulator(t);
    for (const argv of ["", "--steps 1 --before request:1", "--steps 0", "--to yesterday"]) {
      assert.equal((await svc(`emulator rewind ${argv}`)).exit, 2, argv);
    }
    assert.deepEqual(await svc("emulator rewind --steps 1"), {
      exit: 1,
      stdout: "",
      stderr:
        "error: This emulator has no history. It requires a state in a file or a database, and SVC_HISTORY above 0 (HTTP 409)\n" +
        "  Save snapshots with `svc emulator snapshot save NAME`.\n",
    });
  });

  it("limits the history by SVC_HISTORY and rejects invalid sizes", async (t) => {
    const cwd = await createTestFolder(t);
    const { exit, stderr } = await runCli("emulator exec -- true", { cwd, env: { SVC_HISTORY: "much" } });
    assert.deepEqual([exit, stderr.split("\n")[0]], [2, 'error: SVC_HISTORY must be a size (500MB, 2GiB), got "much"']);
    assert.equal((await runCli("emulator exec --file a.json -- true", { cwd, env: { SVC_HISTORY: "0" } })).exit, 0);
  });
});
