import assert from "node:assert/strict";
import { once } from "node:events";
import { lstat, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { startSvcProcess } from "../../support/cli/start-svc.ts";

const skip = process.platform === "linux" ? false : "the paths of open files are those of Linux";

/** Runs `svc` with a link like /dev/stdout, which a fault must not remove. Appends its output to a file, if named. */
async function runWithLink(t: TestContext, argv: readonly string[], cwd: string, file?: string) {
  const within = file === undefined ? [] : ["sh", "-c", `exec "$0" "$@" >> ${file}`];
  const svc = await startSvcProcess(t, argv, { cwd, within });
  return { svc, ended: once(svc.child, "close").then(([exit]) => ({ exit, stderr: svc.stderr() })) };
}

async function createFolderWithLink(t: TestContext): Promise<string> {
  const cwd = await createTestFolder(t);
  await symlink("/proc/self/fd/1", join(cwd, "stdout"));
  await writeFile(join(cwd, "story.yaml"), "name: story\nsteps:\n  - advance: PT1H\n");
  return cwd;
}

describe("output to the path of standard output", { skip }, () => {
  it("reaches a program that has the other end of a socket", async (t) => {
    const cwd = await createFolderWithLink(t);
    const argv = ["emulator", "start", "--ephemeral", "--port", "0", "--quiet", "--ready-file", "stdout"];
    const { svc, ended } = await runWithLink(t, argv, cwd);
    await svc.saw('"token"');
    assert.equal(JSON.parse(svc.stdout().split("\n")[0]!).event, "ready");
    await svc.stop("SIGTERM");
    assert.deepEqual(await ended, { exit: 143, stderr: "" });
  });

  it("is appended to a file, like other output", async (t) => {
    const cwd = await createFolderWithLink(t);
    await writeFile(join(cwd, "all.txt"), "before\n");
    const argv = ["emulator", "state", "export", "--emulator", "--output", "stdout"];
    const { ended } = await runWithLink(t, argv, cwd, "all.txt");
    const { exit, stderr } = await ended;
    assert.equal(exit, 0, stderr);
    assert.match(await readFile(join(cwd, "all.txt"), "utf8"), /^before\n\{\n {2}"svc_state"/);
  });

  it("is not called written if it was not", async (t) => {
    const argv = ["emulator", "state", "export", "--emulator", "--output", "stdout"];
    const { ended } = await runWithLink(t, argv, await createFolderWithLink(t), "/dev/full");
    const { exit, stderr } = await ended;
    const problem = "error: Failed to write to standard output: no space is left on the disk (ENOSPC).";
    assert.deepEqual([exit, stderr.split("\n")[0], stderr.includes("Wrote")], [1, problem, false]);
  });

  it("keeps the file of a report", async (t) => {
    const cwd = await createFolderWithLink(t);
    await writeFile(join(cwd, "report.xml"), '<?xml version="1.0"?>\n');
    const { ended } = await runWithLink(t, ["run", "story.yaml", "--report", "stdout"], cwd, "report.xml");
    assert.equal((await ended).exit, 0);
    assert.match(await readFile(join(cwd, "report.xml"), "utf8"), /<\/testsuites>/);
    assert.deepEqual(
      (await readdir(cwd)).filter((name) => name.startsWith("report")),
      ["report.xml"],
    );
  });

  it("keeps the path itself, when an emulator that has ended wrote to the file before", async (t) => {
    const cwd = await createFolderWithLink(t);
    await writeFile(join(cwd, "ready.json"), '{"event":"ready","pid":1}\n');
    const argv = ["emulator", "start", "--ephemeral", "--port", "0", "--quiet", "--ready-file", "stdout"];
    const { svc, ended } = await runWithLink(t, [...argv, "--log", "json"], cwd, "ready.json");
    await svc.saw('"ready"');
    await svc.stop("SIGTERM");
    await ended;
    const lines = (await readFile(join(cwd, "ready.json"), "utf8")).split("\n", 2);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).event),
      ["ready", "ready"],
    );
    assert.ok((await lstat(join(cwd, "stdout"))).isSymbolicLink());
  });
});

describe("output to the path of standard error", { skip }, () => {
  it("fails if it cannot be written", async (t) => {
    const cwd = await createFolderWithLink(t);
    const within = ["sh", "-c", 'exec "$0" "$@" 2>/dev/full'];
    const svc = await startSvcProcess(t, ["run", "story.yaml", "--report", "/proc/self/fd/2"], { cwd, within });
    assert.deepEqual(await once(svc.child, "close"), [1, null]);
  });
});

describe("output to a socket", { skip }, () => {
  it("is rejected before a request is sent", async (t) => {
    const cwd = await createTestFolder(t);
    const within = ["sh", "-c", 'exec "$0" "$@" 3>&1 >out.txt 2>err.txt'];
    const argv = ["emulator", "state", "export", "--emulator", "--output", "/proc/self/fd/3"];
    const svc = await startSvcProcess(t, argv, { cwd, within });
    const [exit] = await once(svc.child, "close");
    assert.deepEqual(
      [exit, (await readFile(join(cwd, "err.txt"), "utf8")).split("\n")[0]],
      [2, "error: --output: /proc/self/fd/3 is a socket, not a file"],
    );
  });
});

describe("input from the path of a socket", { skip }, () => {
  for (const [flag, argv] of [
    ["--data", ["contracts", "create", "--emulator", "--data", "/dev/stdin"]],
    ["<file>", ["router", "map-emails", "/dev/stdin", "--cluster", "eu-1", "--emulator"]],
  ] as const) {
    it(`is rejected before anything is sent: ${argv.slice(0, 2).join(" ")}`, async (t) => {
      const svc = await startSvcProcess(t, argv, { cwd: await createTestFolder(t) });
      const [exit] = await once(svc.child, "close");
      const message = `error: ${flag}: /dev/stdin is a socket, not a file\n  For standard input, use -.\n`;
      assert.deepEqual([exit, svc.stderr()], [2, message]);
    });
  }
});
