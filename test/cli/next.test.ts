import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { ndaContractJson } from "../support/cli/nda.ts";
import { runCli } from "../support/cli/run-cli.ts";
import { startReceiver } from "../support/receiver.ts";

/** The command lines that a run suggests. */
const findProposedCommands = (stderr: string): string[] =>
  [...stderr.matchAll(/(?:Next:|try:|approved:|^ {2})\s?(svc [a-z].*)$/gm)].map(([, line]) => line!);

/** An emulator at the default port, which may run on this machine, changes the suggestion to start another. */
const omitPort = (line: string | undefined) => line?.replace(/ --port 0$/, "");

/** Creates a folder with a profile that has the addresses of the services. */
async function createProfileFolder(t: TestContext, name: string) {
  const cwd = await createTestFolder(t);
  const profiles = { [name]: { router_url: "http://127.0.0.1:9" } };
  await writeFile(join(cwd, "profiles.json"), JSON.stringify({ profiles }));
  return { cwd, env: { SVC_CONFIG_DIR: cwd } };
}

describe("suggested command line", () => {
  it("uses the same target with --emulator", async (t) => {
    const cwd = await createTestFolder(t);
    const created = await runCli("contracts create --data - --emulator", { cwd, stdin: ndaContractJson });
    assert.deepEqual(findProposedCommands(created.stderr), ["svc contracts send T-1 --emulator"]);
    const sent = await runCli("contracts send T-1 --emulator", { cwd });
    assert.deepEqual(findProposedCommands(sent.stderr), ["svc emulator sign T-1 --emulator"]);
    const result = await runCli("webhooks trigger CONTRACT_SIGNED --emulator", { cwd });
    assert.deepEqual(findProposedCommands(result.stderr), ["svc webhooks listen --emulator"]);
  });

  it("names the program svc, even under npx, and preserves other words", async (t) => {
    const cwd = await createTestFolder(t);
    const env = { npm_lifecycle_event: "npx", npm_lifecycle_script: "svc" };
    const { stderr } = await runCli("emulator deliveries", { cwd, env });
    assert.equal(omitPort(stderr.split("\n").at(-2)), "  try: svc emulator start --detach");
    await runCli(["intake", "create", "--title", "svc help me", "--workflow-id", "201", "--emulator"], { cwd, env });
    const { stdout } = await runCli("intake list --fields title --emulator", { cwd, env });
    assert.match(stdout, /^svc help me$/m);
    const help = await runCli("help", { env });
    assert.deepEqual([help.stdout.includes("npx"), help.stdout], [false, (await runCli("help")).stdout]);
  });

  it("uses the same target with --profile, in errors for users and for programs", async (t) => {
    const { cwd, env } = await createProfileFolder(t, "staging");
    const result = await runCli("--profile staging auth token", { cwd, env });
    assert.deepEqual(findProposedCommands(result.stderr), ["svc auth device-login --profile staging"]);
    const programs = await runCli("--profile=staging auth token --json", { cwd, env });
    assert.deepEqual(JSON.parse(programs.stderr).error.next, [
      { argv: ["svc", "auth", "device-login", "--profile", "staging"] },
    ]);
  });

  it("has no target if the command sends no requests", async (t) => {
    const cwd = await createTestFolder(t);
    await runCli("contracts list --emulator", { cwd });
    const state = join(cwd, ".svc/emulator.json");
    await writeFile(state, (await readFile(state, "utf8")).replace("northwind", "damaged"));
    const { stderr } = await runCli("contracts list --emulator", { cwd });
    assert.deepEqual(findProposedCommands(stderr), [`svc emulator repair ${state}`]);
  });
});

describe("hint for a rejected request", () => {
  const unchanged = { "x-svc-unchanged": "true" };
  const temporary = "The service has a problem. Try again later. To print each attempt, use --verbose.";
  const diskHint =
    "The emulator cannot store its state, and changed nothing. Free space on its disk, or fix the permissions of its files or database. Its log has the reason.";
  for (const [name, status, headers, exit, hint] of [
    [
      "whose caller has no permission",
      403,
      {},
      4,
      "The credentials are valid, but have no permission for this request.",
    ],
    ["to an emulator with a full disk", 503, unchanged, 75, diskHint],
    ["to an emulator whose state was replaced", 503, { ...unchanged, "retry-after": "1" }, 75, temporary],
    ["to a failing service", 500, {}, 75, temporary],
  ] as const)
    it(`is the last line of the error: ${name}`, async (t) => {
      const service = await startReceiver(t);
      const type = { "content-type": "application/json" };
      service.respond((_, response) => response.writeHead(status, { ...type, ...headers }).end('{"detail":"No."}'));
      const env = { SVC_BASE_URL: service.url, SVC_CLIENT_ID: "id", SVC_CLIENT_SECRET: "secret" };
      const result = await runCli("contracts status T-1 --retries 0", { env });
      assert.deepEqual([result.exit, result.stderr.split("\n").at(-2)], [exit, `  ${hint}`], result.stderr);
    });

  it("names the variable of missing credentials", async () => {
    const env = { SVC_BASE_URL: "http://127.0.0.1:9" };
    const { exit, stderr } = await runCli("billing event --data -", { env, stdin: "{}" });
    assert.deepEqual([exit, stderr.split("\n").at(-2)], [4, "  Set SVC_BASIC_AUTH to user:password."], stderr);
  });
});
