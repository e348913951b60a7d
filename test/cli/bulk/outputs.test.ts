import assert from "node:assert/strict";
import { link, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createBulkFixture } from "../../support/cli/bulk-stage.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";

const run = "router map-clients rows.txt --cluster eu-1";
const outputs = ["--errors-out", "--plan-out"] as const;
const read = (cwd: string, name: string) => readFile(join(cwd, name), "utf8");

describe("output files of a bulk job", () => {
  for (const flag of outputs) {
    for (const [label, name] of [
      ["its input", "rows.txt"],
      ["a link to its input", "link.txt"],
      ["a hard link to its input", "second.txt"],
    ] as const) {
      it(`rejects ${label} as the output file of ${flag}`, async (t) => {
        const { svc, cwd, listRequests } = await createBulkFixture(t, ["a", "b b"]);
        await symlink("rows.txt", join(cwd, "link.txt"));
        await link(join(cwd, "rows.txt"), join(cwd, "second.txt"));
        for (const more of ["", " --skip-invalid", " --dry-run"]) {
          assert.deepEqual(await svc(`${run} ${flag} ${name}${more}`), {
            exit: 2,
            stdout: "",
            stderr: `error: ${flag} must not be the input file ${name}\n  Choose another file.\n`,
          });
        }
        assert.deepEqual([await read(cwd, "rows.txt"), listRequests()], ["a\nb b\n", []]);
      });
    }

    it(`rejects a file with other content for ${flag}`, async (t) => {
      const { svc, cwd, listRequests } = await createBulkFixture(t, ["a", "b"]);
      await writeFile(join(cwd, "precious.txt"), "precious");
      assert.deepEqual(await svc(`${run} ${flag} precious.txt`), {
        exit: 2,
        stdout: "",
        stderr: [
          `error: ${flag}: precious.txt exists and was not written by this option\n`,
          "  Choose a file that does not exist.\n",
        ].join(""),
      });
      assert.deepEqual([await read(cwd, "precious.txt"), listRequests()], ["precious", []]);
    });

    it(`replaces an empty file or an earlier output of ${flag}`, async (t) => {
      const { svc, cwd, write } = await createBulkFixture(t, ["a", "b b"]);
      await writeFile(join(cwd, "out"), "");
      await svc(`${run} --skip-invalid ${flag} out`);
      const before = await read(cwd, "out");
      await write("rows.txt", ["a", "b"]);
      const { exit, stderr } = await svc(`${run} --skip-invalid ${flag} out`);
      assert.equal(exit, 0, stderr);
      const after = await read(cwd, "out");
      assert.ok(before !== after && after.length > 0, after);
      // A run without errors must remove the rows of an earlier run.
      if (flag === "--errors-out") assert.equal(after, "row,input,status,code,message,moved_from\r\n");
    });
  }

  it("rejects the applied plan and the input file of a resume as output files", async (t) => {
    const { svc, cwd, listRequests } = await createBulkFixture(t, ["a"], ({ number }) =>
      number === 1 ? { status: 503 } : undefined,
    );
    await svc(`${run} --plan-out plan.json`);
    const result = await svc("router map-clients --apply plan.json --errors-out plan.json");
    assert.match(result.stderr, /^error: --errors-out must not be the input file plan\.json\n/);
    await svc(`${run} --retries 0 --errors-out bad.csv`);
    await writeFile(join(cwd, "bad.csv"), "a\n");
    const resumeResult = await svc("router jobs resume --last bad.csv");
    assert.match(resumeResult.stderr, /^error: --errors-out must not be the input file \S*bad\.csv\n/);
    assert.deepEqual(
      [result.exit, resumeResult.exit, await read(cwd, "bad.csv"), listRequests().length],
      [2, 2, "a\n", 1],
    );
  });

  it("names the missing folder of an output file", async (t) => {
    const { svc } = await createBulkFixture(t, ["a"]);
    for (const flag of outputs) {
      assert.deepEqual(await svc(`${run} ${flag} none/out`), {
        exit: 2,
        stdout: "",
        stderr: `error: ${flag}: cannot write to the folder none: it does not exist (ENOENT)\n  Create it, or choose another location.\n`,
      });
    }
  });

  it("preserves the previous file if the input is unreadable", async (t) => {
    const { svc, cwd, write } = await createBulkFixture(t, ["a", "b b"]);
    await svc(`${run} --errors-out bad.csv`);
    const before = await read(cwd, "bad.csv");
    await write("rows.txt", ["c c"]);
    await writeFile(join(cwd, "rows.txt"), Buffer.from("c c\nd\xfc\n", "latin1"));
    assert.equal((await svc(`${run} --errors-out bad.csv`)).exit, 2);
    assert.equal(await read(cwd, "bad.csv"), before);
  });
});

describe("errors of a bulk job on a full disk", () => {
  it("are reported with the file, and nothing is sent", async (t) => {
    const { svc, listRequests } = await createBulkFixture(t, ["a", "b b"]);
    for (const more of ["", " --dry-run --skip-invalid"]) {
      const { exit, stderr } = await svc(`${run} --errors-out /dev/full${more}`);
      assert.deepEqual(
        [exit, stderr.split("\n")[0]],
        [1, "error: Failed to write /dev/full: no space is left on the disk (ENOSPC)."],
      );
    }
    assert.deepEqual(listRequests(), []);
  });
});

describe("response file", () => {
  it("replaces no input of the request", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "in.json"), "{}");
    const env = { SVC_CONFIG_DIR: cwd, SVC_CLIENT_ID: "id", SVC_CLIENT_SECRET: "secret" };
    for (const argv of [
      "contracts download-docx 1 --data in.json --output in.json --base-url http://127.0.0.1:1",
      "emulator state export --file in.json --output in.json",
    ]) {
      const { exit, stderr } = await runCli(argv, { cwd, env });
      const message = "error: --output must not be the input file in.json";
      assert.deepEqual([exit, stderr.split("\n")[0]], [2, message]);
    }
    assert.equal(await read(cwd, "in.json"), "{}");
  });
});
