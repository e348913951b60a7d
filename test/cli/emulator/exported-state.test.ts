import assert from "node:assert/strict";
import { readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";

describe("exported state as --file", () => {
  it("is rejected unchanged with its kind and an import command in any layout", async (t) => {
    const cwd = await createTestFolder(t);
    const result = await runCli("emulator state export --emulator -o exported.json", { cwd });
    assert.equal(result.exit, 0, result.stderr);
    const file = join(cwd, "exported.json");
    const text = await readFile(file, "utf8");
    for (const layout of [text, JSON.stringify(JSON.parse(text))]) {
      await writeFile(file, layout);
      assert.deepEqual(await runCli("emulator start --port 0 --file exported.json", { cwd }), {
        exit: 1,
        stdout: "",
        stderr:
          `error: ${file} is an exported state, not an emulator state file. Nothing was changed. Start an emulator ` +
          `on another file, and import it: "svc emulator state import --data ${file}".\n`,
      });
      assert.equal(await readFile(file, "utf8"), layout);
    }
    const imported = await runCli("emulator state import --data exported.json --emulator --yes", { cwd });
    assert.equal(imported.exit, 0, imported.stderr);
  });
});

describe("exported state that is too large", () => {
  it("is rejected with the hint to use a snapshot", async (t) => {
    const cwd = await createTestFolder(t);
    const file = join(cwd, "large.json");
    await writeFile(file, '{"svc_state": 1, "written_by": "0.1.0"');
    await truncate(file, 513 * 1024 * 1024);
    assert.deepEqual(await runCli("emulator state import --data large.json --emulator --yes", { cwd }), {
      exit: 2,
      stdout: "",
      stderr:
        "error: --data: large.json is too large (limit: 500 MiB)\n  A snapshot can be larger: save one with svc " +
        "emulator snapshot save NAME, and start with svc emulator start --from FILE.\n",
    });
    assert.deepEqual(await runCli("emulator start --port 0 --from large.json", { cwd }), {
      exit: 1,
      stdout: "",
      stderr:
        `error: ${file} is too large for an exported state (limit: 512 MiB). Nothing was changed. ` +
        "Use a snapshot, or the state file of the emulator, which can be larger.\n",
    });
    const { exit, stderr } = await runCli("emulator start --port 0 --file large.json", { cwd });
    const problem = `error: ${file} is an exported state, not an emulator state file. Nothing was changed.`;
    assert.deepEqual([exit, stderr.slice(0, problem.length)], [1, problem]);
  });
});

describe("document other than an exported state", () => {
  it("is rejected by an import with the name of the missing part", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "wrong.json"), '{"a": 1}');
    assert.deepEqual(await runCli("emulator state import --data wrong.json --emulator --yes", { cwd }), {
      exit: 1,
      stdout: "",
      stderr:
        "error: This emulator cannot load the state: The document is not an exported " +
        'state: "svc_state" is missing (HTTP 400)\n' +
        "  Export one with `svc emulator state export` of the same version.\n",
    });
  });
});

describe("snapshot as --file", () => {
  it("is rejected unchanged with its kind and a start command", async (t) => {
    const cwd = await createTestFolder(t);
    const result = await runCli("emulator snapshot save prepared --emulator --json=file", { cwd });
    assert.equal(result.exit, 0, result.stderr);
    const { file } = JSON.parse(result.stdout) as { file: string };
    const text = await readFile(file, "utf8");
    assert.deepEqual(await runCli(["emulator", "start", "--port", "0", "--file", file], { cwd }), {
      exit: 1,
      stdout: "",
      stderr:
        `error: ${file} is a snapshot, not an emulator state file. Nothing was changed. Start with a copy of ` +
        `it: "svc emulator start --from ${file}".\n`,
    });
    assert.equal(await readFile(file, "utf8"), text);
  });
});

describe("file of another user as --file", () => {
  const otherFiles = [
    ["a document", '{"name": "shop", "version": "1.0.0"}\n'],
    ["a list", "[]"],
    ["a text", "hello\n"],
    ["nothing", ""],
  ] as const;
  for (const [label, content] of otherFiles) {
    it(`is rejected unchanged and not reported as damaged: ${label}`, async (t) => {
      const cwd = await createTestFolder(t);
      const file = join(cwd, "package.json");
      await writeFile(file, content);
      const isNone = `error: ${file} is not an emulator state file`;
      assert.deepEqual(await runCli("emulator start --port 0 --file package.json", { cwd }), {
        exit: 1,
        stdout: "",
        stderr: `${isNone}. Nothing was changed. Choose another file with --file. To load a seed, use --seed.\n`,
      });
      assert.deepEqual(await runCli("emulator repair package.json", { cwd }), {
        exit: 1,
        stdout: "",
        stderr: `${isNone}\n`,
      });
      assert.equal(await readFile(file, "utf8"), content);
      assert.deepEqual(await readdir(cwd), ["package.json"]);
    });
  }
});
