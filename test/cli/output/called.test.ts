import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { groupNames } from "../../../src/cli/command-tree.ts";
import { topics } from "../../../src/cli/help/topics.ts";
import { allCommands } from "../../support/cli/all-commands.ts";
import { cliEmulator, testFolder } from "../../support/cli/cli-emulator.ts";
import { type RunOptions, runCli } from "../../support/cli/run-cli.ts";

const byNpx = { npm_lifecycle_event: "npx", npm_lifecycle_script: "svc" };

/** The commands in a text that a shell would not find: whoever has run npx has no `svc` on the path. */
const begins = new RegExp(
  `(?<!npx )(?<![\\w./-])svc (?:<|--|(?:${(await groupNames()).join("|")}|help|version)\\b).{0,40}`,
  "g",
);
const unfound = (text: string): string[] =>
  [...text.replaceAll(/ \\\n */g, " ").matchAll(begins)].map(([found]) => found);

/** Lines apart from how they are broken. */
const flowed = (text: string): string => text.replaceAll(/(?: \\)?\s+/g, " ");

const commands = await allCommands();
const pages = [
  ...new Set(commands.flatMap(({ words }) => ["", ...words.map((_, i) => words.slice(0, i + 1).join(" "))])),
].map((words) => `${words} --help`);

describe("a program that npx has run", () => {
  it("writes on every page of help what its reader can type", async () => {
    const wrong: string[] = [];
    for (const page of [...pages, ...Object.keys(topics).map((topic) => `help ${topic}`)]) {
      const [usual, here] = await Promise.all([runCli(page), runCli(page, { env: byNpx })]);
      // Pages that tell of npx itself do so however they are called.
      const [expected, found] = [usual.out, here.out].map((out) => flowed(out).replaceAll("npx svc", "svc"));
      wrong.push(...(found === expected ? [] : [page]), ...unfound(here.out));
    }
    assert.deepEqual(wrong, []);
  });

  it("keeps a page within its window", async () => {
    for (const page of ["--help", "emulator start --help", "help addresses"]) {
      const { out } = await runCli(page, { env: byNpx, tty: true, columns: 80 });
      const text = out.replace(/^Examples:\n(?: {2}.*\n)*/m, "");
      assert.deepEqual(
        text.split("\n").filter((line) => line.length > 80),
        [],
      );
    }
  });

  it("writes so in hints, notes, errors and answers to people", async (t) => {
    const { svc } = await cliEmulator(t);
    const folder = { cwd: await testFolder(t), env: byNpx };
    const run = (line: string, options: RunOptions = {}) => svc(line, { env: byNpx, ...options });
    const printed = [
      await run("webhooks trigger NOPE"),
      await run("contracts lists"),
      await run("emulator deliveries", { tty: true }),
      await run("emulator workspaces", { tty: true }),
      await run("emulator trace nothing:1"),
      await run("emulator invitations decline NOPE"),
      await run("webhooks why", { tty: true }),
      await run("contracts send"),
      await run("doctor", { tty: true }),
      await runCli("emulator exec --nope -- true", folder),
      await runCli("emulator deliveries", folder),
      await runCli("router jobs list", { ...folder, tty: true, env: { ...byNpx, SVC_STATE_DIR: folder.cwd } }),
      await runCli("config use nope", { ...folder, env: { ...byNpx, SVC_CONFIG_DIR: folder.cwd } }),
      await runCli("webhooks verify x --signature y", folder),
      await runCli("auth token", { cwd: folder.cwd, env: { ...byNpx, SVC_BASE_URL: "http://127.0.0.1:9" } }),
    ].map(({ out, err }) => out + err);
    assert.deepEqual(
      printed
        .map((text) => [unfound(text), text.includes("npx svc")])
        .filter(([wrong]) => (wrong as string[]).length > 0),
      [],
    );
    assert.ok(printed.filter((text) => text.includes("npx svc")).length > 10, printed.join("\n---\n"));
  });

  it("walks the tour by commands that its reader can type", async () => {
    const { out } = await runCli("tour", { env: { ...byNpx, npm_lifecycle_script: "svc-toolkit tour" } });
    assert.match(out, /\$ npx svc-toolkit contracts send T-1\n/);
    assert.deepEqual(unfound(out), []);
  });

  it("leaves what programs read as it is", async () => {
    for (const line of ["help --json", "help --man", "help emulator --man"]) {
      const [usual, here] = await Promise.all([runCli(line), runCli(line, { env: byNpx })]);
      assert.equal(here.out, usual.out);
    }
    const { err } = await runCli("emulator deliveries --json", { env: byNpx });
    assert.deepEqual(JSON.parse(err).error.next, [{ argv: ["svc", "emulator", "start"] }]);
  });

  it("leaves what others wrote as it is", async (t) => {
    const { svc } = await cliEmulator(t);
    await svc(["intake", "create", "--title", "svc help me", "--workflow-id", "201"], { env: byNpx });
    const { out } = await svc("intake list --format table --fields title", { env: byNpx });
    assert.match(out, /^svc help me$/m);
    const one = await svc("intake show 1 --format table --fields title", { env: byNpx });
    assert.match(one.out, / svc help me$/m);
  });
});
