import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { contract, runStory } from "./story.ts";

const hint = "  svc run --schema prints the JSON Schema of scenario files.\n";
const byHand = "It calls no operation. Run it in a shell.";
const elsewhere = "A step runs against the emulator of its scenario.";

/** Command lines that reach beyond the scenario, with the reason for each rejection. */
const rejectedLines: readonly (readonly [line: string, reason: string])[] = [
  [
    "config set contracts_url http://127.0.0.1:9 --profile prod",
    `svc config set cannot be run by a scenario. ${byHand}`,
  ],
  ["contracts list --profile prod", `--profile cannot be used in a scenario. ${elsewhere}`],
  ["contracts list --base-url http://127.0.0.1:9", `--base-url cannot be used in a scenario. ${elsewhere}`],
  ["--base-url=http://127.0.0.1:9 contracts list", `--base-url cannot be used in a scenario. ${elsewhere}`],
  ["contracts list --emulator", `--emulator cannot be used in a scenario. ${elsewhere}`],
  ["emulator requests --file other.json", `--file cannot be used in a scenario. ${elsewhere}`],
  ["emulator workspaces --file other.json", `--file cannot be used in a scenario. ${elsewhere}`],
  ["emulator exec -- touch marker", `svc emulator exec cannot be run by a scenario. ${byHand}`],
  ["emulator exec touch marker", `svc emulator exec cannot be run by a scenario. ${byHand}`],
  ["auth certify -- touch marker", `svc auth certify cannot be run by a scenario. ${byHand}`],
  ["auth token", `svc auth token cannot be run by a scenario. ${byHand}`],
  ["webhooks certify --command 'touch marker'", `svc webhooks certify cannot be run by a scenario. ${byHand}`],
  ["webhooks listen", `svc webhooks listen cannot be run by a scenario. ${byHand}`],
  ["webhooks trigger CONTRACT_SIGNED --edit", "--edit cannot be used in a scenario. It starts an editor."],
  ["webhooks deliveries --follow", "--follow cannot be used in a scenario. It never ends."],
  ["emulator events", "svc emulator events cannot be run by a scenario. It never ends."],
  ["emulator open", "svc emulator open cannot be run by a scenario. It starts a browser."],
  ["emulator stop", "svc emulator stop cannot be run by a scenario. It ends an emulator that a state file names."],
  ["agent setup", `svc agent setup cannot be run by a scenario. ${byHand}`],
  ["verify proxy --to http://127.0.0.1:9 --out corpus", `svc verify proxy cannot be run by a scenario. ${byHand}`],
  ["run story.yaml", `svc run cannot be run by a scenario. ${byHand}`],
  ["dev", `svc dev cannot be run by a scenario. ${byHand}`],
  ["chat-a event --file x", "svc chat-a event cannot be run by a scenario. It acts for a person or a connected app."],
  ["files upload /etc/passwd", createOutsideMessage("<path>", "/etc/passwd")],
  ["files upload ../x", createOutsideMessage("<path>", "../x")],
  ["intake create --file /etc/passwd", createOutsideMessage("--file", "/etc/passwd")],
  ["contracts create --data /etc/passwd", createOutsideMessage("--data", "/etc/passwd")],
  ["contracts create --data /etc/$client_id", createOutsideMessage("--data", "/etc/x")],
  ["contracts import-executed --file-base64 @/etc/passwd", createOutsideMessage("--file-base64", "/etc/passwd")],
  ["contracts download T-1 -o/tmp/x", createOutsideMessage("--output", "/tmp/x")],
  ["webhooks verify /etc/passwd", createOutsideMessage("<body>", "/etc/passwd")],
  ["webhooks sign - --key-file ../key", createOutsideMessage("--key-file", "../key")],
  ["router map-emails ../people.csv", createOutsideMessage("<file>", "../people.csv")],
  ["router map-emails x.csv --errors-out ../x", createOutsideMessage("--errors-out", "../x")],
  ["contracts reconcile --received ../x", createOutsideMessage("--received", "../x")],
];

function createOutsideMessage(key: string, file: string): string {
  return `${key} must be the name of a file of the scenario, without a folder, got "${file}".`;
}

describe("svc run with untrusted files", () => {
  it("rejects command lines that reach beyond the scenario before anything runs", async (t) => {
    const cwd = await createTestFolder(t);
    const printedErrors: (readonly [string, string])[] = [];
    for (const [line] of rejectedLines) {
      await writeFile(join(cwd, "story.yaml"), `steps:\n  - svc: ${JSON.stringify(line)}\n`);
      const { exit, stdout, stderr } = await runCli("run story.yaml", { cwd });
      printedErrors.push([line, exit === 2 && stdout === "" ? stderr.replace(hint, "") : `${exit} ${stdout}${stderr}`]);
    }
    assert.deepEqual(
      printedErrors,
      rejectedLines.map(([line, reason]) => [line, `error: story.yaml:2:10: ${reason}\n`]),
    );
    assert.deepEqual(await readdir(cwd), ["story.yaml"]);
  });

  it("rejects unsafe command lines in loops and as lists of words", async (t) => {
    const story = `
steps:
  - for each: { page: [1] }
    steps: [{ advance: PT1H }, { svc: [contracts, list, --page, $page, --profile, prod] }]
`;
    const { exit, stdout, stderr } = await runStory(t, story);
    assert.deepEqual(
      [exit, stdout, stderr],
      [2, "", `error: story.yaml:3:39: --profile cannot be used in a scenario. ${elsewhere}\n${hint}`],
    );
  });

  it("rejects a line that becomes unsafe through references", async (t) => {
    const secret = `
steps:
  - for each: { word: [exec] }
    steps: [{ svc: emulator $word touch marker }]
`;
    const file = `
steps:
  - for each: { name: [../secret] }
    steps: [{ svc: contracts create --data $name }]
`;
    const [program, path] = [await runStory(t, secret), await runStory(t, file)];
    assert.deepEqual([program.exit, path.exit], [1, 1]);
    assert.match(program.stdout, /svc emulator exec cannot be run by a scenario\. It calls no operation\./);
    assert.match(
      path.stdout,
      /--data must be the name of a file of the scenario, without a folder, got "\.\.\/secret"\./,
    );
  });

  it("hides the user's profiles, jobs and variables from command lines", async (t) => {
    const home = await createTestFolder(t);
    const profiles = JSON.stringify({ current: "prod", profiles: { prod: { router_url: "http://127.0.0.1:9" } } });
    await writeFile(join(home, "profiles.json"), profiles, { mode: 0o600 });
    const env = {
      SVC_CONFIG_DIR: home,
      SVC_STATE_DIR: join(home, "state"),
      SVC_PROFILE: "prod",
      SVC_TOKEN: "token-of-the-user",
      SVC_RUN_FILE: join(home, "run"),
      GITHUB_OUTPUT: join(home, "output"),
      GITHUB_ACTIONS: "true",
    };
    const story = `
files: { people.txt: "jo@acme.example\\n" }
steps:
  - svc: router map-emails people.txt --hash sha256 --cluster $cluster_id --json
  - svc: router jobs list --json
  - svc: contracts list --json
`;
    const { exit, stdout, stderr } = await runStory(t, story, [], {}, { env });
    assert.deepEqual([exit, stderr], [0, ""], stdout);
    assert.deepEqual(await readdir(home), ["profiles.json"]);
    assert.equal(await readFile(join(home, "profiles.json"), "utf8"), profiles);
  });

  it("rejects a seed outside the folder of the scenario, also through a link", async (t) => {
    const cwd = await createTestFolder(t);
    await mkdir(join(cwd, "stories"));
    await writeFile(join(cwd, "secret.json"), '{"secret": "hunter2"}');
    await symlink("../secret.json", join(cwd, "stories/link.json"));
    for (const seed of ["../secret.json", "link.json", join(cwd, "secret.json")]) {
      await writeFile(join(cwd, "stories/story.yaml"), `seed: ${seed}\nsteps: [{ advance: next }]`);
      const { exit, stderr } = await runCli("run stories/story.yaml", { cwd });
      assert.deepEqual(
        [exit, stderr],
        [
          2,
          `error: stories/story.yaml:1:7: seed ${seed} is outside the folder of the scenario.\n  svc emulator seed-schema prints the JSON Schema of seeds.\n`,
        ],
      );
    }
  });

  it("does not follow the link of a scenario out of the folder", async (t) => {
    const [cwd, outside] = [await createTestFolder(t), await createTestFolder(t)];
    const secret = join(outside, "secret");
    await writeFile(secret, "root:s3cret: 1\n");
    await symlink(secret, join(cwd, "story.yaml"));
    const { exit, stderr } = await runCli("run story.yaml", { cwd });
    const message = `error: <file>: story.yaml is a link that leads out of this folder, to ${secret}\n`;
    assert.deepEqual([exit, stderr], [2, `${message}  To run that file, use its own path.\n`]);
    await writeFile(join(cwd, "own.yaml"), "steps: [{ advance: next }]");
    await symlink("own.yaml", join(cwd, "link.yaml"));
    assert.equal((await runCli("run link.yaml", { cwd })).exit, 0);
    assert.equal((await runCli(["run", join(cwd, "own.yaml")], { cwd: outside })).exit, 0);
  });

  it("rejects a pipe as a scenario and as a seed", { skip: process.platform === "win32" }, async (t) => {
    const cwd = await createTestFolder(t);
    execFileSync("mkfifo", [join(cwd, "pipe")]);
    await writeFile(join(cwd, "story.yaml"), "seed: pipe\nsteps: [{ advance: next }]");
    const [scenario, seed] = [await runCli("run pipe", { cwd }), await runCli("run story.yaml", { cwd })];
    assert.deepEqual(
      [scenario.exit, scenario.stderr, seed.exit, seed.stderr],
      [
        2,
        "error: <file>: pipe is not a regular file\n  See svc run --help.\n",
        2,
        "error: story.yaml:1:7: seed pipe is not a regular file.\n  svc emulator seed-schema prints the JSON Schema of seeds.\n",
      ],
    );
  });
});

describe("reference in a command line of svc run", () => {
  it("leaves each value unchanged in its word", async (t) => {
    const titles = ["x --base-url http://127.0.0.1:9", "a'b", 'say "hi', "C:\\temp", "$$Jo"];
    const story = `
steps:
  - for each: { title: ${JSON.stringify(titles)} }
    steps:
      - call: webhooks.create
        body: { title: $title, url: http://127.0.0.1:9/, only_for_activities: [CONTRACT_SIGNED] }
        save: { hook: title }
      - svc: "webhooks create --title $hook --description '\${ hook }!' --url http://127.0.0.1:9/ --only-for-activities CONTRACT_SIGNED --json"
`;
    const { exit, stdout } = await runStory(t, story, ["--json"]);
    const { scenarios } = JSON.parse(stdout);
    const created = scenarios[0].steps.filter(({ kind }: { kind: string }) => kind === "svc");
    const webhooks = created.map(({ output }: { output: string }) => JSON.parse(output));
    assert.deepEqual(
      [exit, webhooks.map(({ title, description }: Record<string, string>) => [title, description])],
      [0, titles.map((title) => [title.replace("$$", () => "$"), `${title.replace("$$", () => "$")}!`])],
    );
  });

  it("is never parsed as an option", async (t) => {
    const story = `
steps:
  - for each: { name: [--json] }
    steps: [{ svc: contracts list $name }]
`;
    const { exit, stdout } = await runStory(t, story);
    assert.equal(exit, 1);
    assert.match(stdout, /\$name must not begin with a hyphen, got "--json"\. Use --flag=\$name for a value\./);
  });
});

describe("literal dollar sign in svc run", () => {
  it("is escaped so that the next run matches, with an unchanged byte order mark", async (t) => {
    const body = contract.replace("first_name: Jo", () => "first_name: $$Jo");
    const story = `\ufeffsteps:
  - { call: contracts.create, body: ${body}, save: { made: id } }
  - { svc: "webhooks create --title \\"$$Jo $\${x}\\" --url http://127.0.0.1:9/ --only-for-activities CONTRACT_SIGNED --json", expect: { json: { title: x } } }
`;
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "story.yaml"), story);
    const updated = await runCli("run story.yaml --update", { cwd });
    const secondResult = await runCli("run story.yaml", { cwd });
    assert.deepEqual([updated.exit, secondResult.exit], [0, 0], secondResult.stdout);
    assert.equal(
      await readFile(join(cwd, "story.yaml"), "utf8"),
      story.replace("title: x", () => `title: "$$Jo $$\{x}"`),
    );
  });
});
