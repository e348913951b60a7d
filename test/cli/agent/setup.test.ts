import assert from "node:assert/strict";
import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { enterKey, simulateUser } from "../../support/cli/simulated-user.ts";

const skillFile = ".agents/skills/svc/SKILL.md";

/** Splits a command line into the words after `svc`. Quotes group words. */
const splitWords = (line: string): string[] =>
  (line.match(/'[^']*'|\S+/g) ?? []).slice(1).map((word) => word.replace(/^'|'$/g, ""));

describe("svc agent setup", () => {
  it("writes a skill of at most 400 lines and leaves an identical file unchanged", async (t) => {
    const cwd = await createTestFolder(t);
    const { exit, stderr } = await runCli("agent setup", { cwd });
    const text = await readFile(join(cwd, skillFile), "utf8");
    const lines = text.split("\n").length - 1;
    assert.deepEqual([exit, stderr], [0, `${skillFile}: created, ${lines} lines\n`]);
    assert.ok(lines <= 400);
    assert.match(text, /^---\nname: svc\ndescription: [^\n]{50,1024}\n---\n\n# svc\n/);
    const secondResult = await runCli("agent setup --json", { cwd });
    assert.deepEqual(JSON.parse(secondResult.stdout), { file: join(cwd, skillFile), outcome: "unchanged", lines });
  });

  it("writes into another folder", async (t) => {
    const cwd = await createTestFolder(t);
    const { exit, stderr } = await runCli("agent setup --dir skills", { cwd });
    assert.deepEqual([exit, stderr.split(":")[0]], [0, "skills/svc/SKILL.md"]);
    assert.match(await readFile(join(cwd, "skills/svc/SKILL.md"), "utf8"), /^---\nname: svc\n/);
  });

  it("rejects a file as the target folder", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "skills"), "");
    for (const dir of ["skills", "skills/more"]) {
      const { exit, stderr } = await runCli(`agent setup --dir ${dir}`, { cwd });
      assert.deepEqual(
        [exit, stderr],
        [
          2,
          `error: --dir must be a folder, got "${dir}": skills is a file\n  Name a folder, such as .agents/skills.\n`,
        ],
      );
    }
    assert.equal(await readFile(join(cwd, "skills"), "utf8"), "");
  });

  it("does not write through a link that leads out of the folder, except to a folder that the user names", async (t) => {
    const cwd = await createTestFolder(t);
    const outside = await createTestFolder(t);
    const otherHint = "Remove the link, or choose another folder with --dir.";
    for (const [link, hint] of [
      [".agents", `To write there, use --dir ${join(outside, "target/skills")}. Otherwise remove the link.`],
      [".agents/skills/svc", otherHint],
      [skillFile, otherHint],
    ] as const) {
      await rm(join(cwd, ".agents"), { recursive: true, force: true });
      await mkdir(dirname(join(cwd, link)), { recursive: true });
      await symlink(join(outside, "target"), join(cwd, link));
      const { exit, stderr } = await runCli("agent setup --force", { cwd });
      assert.equal(exit, 2, link);
      assert.match(stderr, /^error: --dir: a link leads from \S+ out of this folder, to \/\S+\n/);
      assert.equal(stderr.split("\n")[1], `  ${hint}`);
    }
    assert.deepEqual(await readdir(outside), []);
    await mkdir(join(outside, "target"));
    assert.equal((await runCli(`agent setup --dir ${join(outside, "target")}`, { cwd })).exit, 0);
    await rm(join(cwd, ".agents"), { recursive: true });
    await mkdir(join(cwd, "skills"));
    await mkdir(join(cwd, ".agents"));
    await symlink("../skills", join(cwd, ".agents/skills"));
    assert.equal((await runCli("agent setup", { cwd })).exit, 0, "a link within the folder");
  });

  it("replaces a file with other content only with --force", async (t) => {
    const cwd = await createTestFolder(t);
    await mkdir(join(cwd, ".agents/skills/svc"), { recursive: true });
    await writeFile(join(cwd, skillFile), "mine\n");
    const result = await runCli("agent setup", { cwd });
    assert.deepEqual(
      [result.exit, result.stderr],
      [
        2,
        "error: --force required when not running interactively\n  Replace .agents/skills/svc/SKILL.md, which has other content? Add --force to confirm.\n",
      ],
    );
    assert.equal(await readFile(join(cwd, skillFile), "utf8"), "mine\n");
    const user = simulateUser([`Replace ${skillFile}, which has other content?`, `n${enterKey}`]);
    const declined = await runCli("agent setup", { cwd, ...user });
    assert.deepEqual([declined.exit, user.waiting()], [1, []]);
    assert.match(declined.stderr, /Nothing was changed\n$/);
    assert.equal(await readFile(join(cwd, skillFile), "utf8"), "mine\n");
    const forced = await runCli("agent setup --force --json", { cwd });
    assert.deepEqual([forced.exit, JSON.parse(forced.stdout).outcome], [0, "replaced"]);
  });

  it("documents commands that all work in an empty folder", async (t) => {
    const cwd = await createTestFolder(t);
    await runCli("agent setup", { cwd });
    const text = await readFile(join(cwd, skillFile), "utf8");
    const lines = [...text.matchAll(/```sh\n([\s\S]*?)```/g)]
      .flatMap(([, block]) => block!.split("\n"))
      .filter((line) => line.startsWith("svc "));
    assert.ok(lines.length > 20);

    const folder = await createTestFolder(t);
    const run = (line: string) => runCli(splitWords(line), { cwd: folder, env: { SVC_CONFIG_DIR: folder } });
    const exits = new Map<string, number>();
    try {
      for (const line of lines) {
        const { exit, stderr } = await run(line);
        exits.set(line, exit);
        if (line !== "svc webhooks why") assert.equal(exit, 0, `${line}: ${stderr}`);
      }
    } finally {
      await run("svc emulator stop");
    }
    // The skill documents exit 1 for a receiver that is down.
    assert.equal(exits.get("svc webhooks why"), 1);
  });
});
