import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmodSync, lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { cliEmulator, testFolder } from "../../support/cli/cli-emulator.ts";
import { shippedSvc } from "../../support/shipped.ts";

describe("what V8 has compiled of the command line", () => {
  it("is kept by the first process and taken by the next ones, whatever they do", async (t) => {
    const { run, kept } = await place(t);
    const { emulator } = await cliEmulator(t);
    const commands = [
      ["contracts", "create", "--help"],
      ["router", "clusters", "--base-url", emulator.routerUrl],
    ];
    for (const argv of commands) await run(argv);
    const first = kept();
    assert.ok(first.length >= 4, `${first.map(({ name }) => name)}`);
    // What is not taken is compiled and kept anew, as another file.
    for (const argv of commands) await run(argv);
    assert.deepEqual(kept(), first);
  });

  it("is kept of an emulator that runs in the process, too", async (t) => {
    const { run, kept } = await place(t);
    const commands = [
      ["emulator", "exec", "--", process.execPath, "--eval", ""],
      ["contracts", "list", "--emulator", "--all"],
    ];
    for (const argv of commands) await run(argv);
    const first = kept();
    assert.ok(largest(first).size > 1_000_000, `${largest(first).size}`);
    for (const argv of commands) await run(argv);
    assert.deepEqual(kept(), first);
  });

  it("is kept anew where V8 refuses it, and where a command does more than those before", async (t) => {
    const { run, kept } = await place(t);
    await run(["help"]);
    const first = largest(kept());
    writeFileSync(first.path, "nothing that V8 has written");
    await run(["help"]);
    const again = largest(kept());
    assert.deepEqual([again.name, again.size > 10_000], [first.name, true]);
    await run(["config", "list"]);
    const more = largest(kept());
    assert.deepEqual([more.name, more.size > again.size], [first.name, true]);
  });

  it("is not looked at in a folder that others may write to", async (t) => {
    const { run, kept } = await place(t);
    await run(["help"]);
    const { path } = largest(kept());
    chmodSync(dirname(path), 0o777);
    writeFileSync(path, "what somebody else has written");
    await run(["help"]);
    assert.equal(readFileSync(path, "utf8"), "what somebody else has written");
  });

  it("is not kept where nobody wants it or there is no place for it", async (t) => {
    const { run, folder } = await place(t);
    const page = await run(["help"], { NODE_DISABLE_COMPILE_CACHE: "1" });
    assert.deepEqual(readdirSync(folder), []);
    assert.equal(await run(["help"], { TMPDIR: join(folder, "missing") }), page);
    assert.deepEqual(readdirSync(folder), []);
  });
});

/** The chunk that holds `main` is. */
const largest = <File extends { size: number }>(files: readonly File[]): File =>
  files.reduce((most, one) => (one.size > most.size ? one : most));

/** A folder for temporary files, and processes that use it. */
async function place(t: TestContext) {
  const folder = await testFolder(t);
  const env = { PATH: process.env.PATH, TMPDIR: folder, SVC_CONFIG_DIR: folder };
  return {
    folder,
    /** The standard output of a command that succeeds. */
    async run(argv: readonly string[], more: Record<string, string> = {}): Promise<string> {
      const { stdout } = await promisify(execFile)(process.execPath, [shippedSvc(), ...argv], {
        env: { ...env, ...more },
        cwd: folder,
      });
      return stdout;
    },
    /** The files that are kept: each new one has another number. */
    kept() {
      const folders = readdirSync(folder).filter((name) => name.startsWith("svc-toolkit-"));
      return folders.flatMap((inner) =>
        readdirSync(join(folder, inner))
          .sort()
          .map((name) => {
            const path = join(folder, inner, name);
            const { ino, size, mtimeMs } = lstatSync(path);
            return { name, path, ino, size, mtimeMs };
          }),
      );
    },
  };
}
