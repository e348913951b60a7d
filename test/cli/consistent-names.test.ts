import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { svcVersion } from "../../src/base/version.ts";
import { loadAllCommands } from "../support/cli/all-commands.ts";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { runCli } from "../support/cli/run-cli.ts";

describe("command and option names", () => {
  for (const line of ["version", "-v", "-V", "--version"]) {
    it(`prints the version for svc ${line}`, async () => {
      assert.deepEqual(await runCli(line), { exit: 0, stdout: `${svcVersion}\n`, stderr: "" });
    });
  }

  it("uses --cluster in every command that names a cluster", async () => {
    const spelt = (await loadAllCommands()).flatMap(({ words, flags }) =>
      flags.filter(({ flag }) => /cluster-id/.test(flag)).map(({ flag }) => `${words.join(" ")} --${flag}`),
    );
    assert.deepEqual(spelt, []);
  });

  it("suggests a position for a misplaced option before the command of exec", async (t) => {
    const cwd = await createTestFolder(t);
    const { exit, stderr } = await runCli("emulator exec --watch npm test", { cwd });
    assert.equal(exit, 2);
    assert.equal(
      stderr,
      "error: unknown option '--watch'\n" +
        "  Options of the command that is run come after --: svc emulator exec [options] -- COMMAND [its options]\n",
    );
  });
});
