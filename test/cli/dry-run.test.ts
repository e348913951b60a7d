import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder, startCliEmulator } from "../support/cli/cli-emulator.ts";
import { runCli } from "../support/cli/run-cli.ts";

describe("--dry-run", () => {
  it("needs no credentials with --emulator, and starts nothing", async (t) => {
    const cwd = await createTestFolder(t);
    const argv = ["intake", "create", "--title", "x", "--workflow-id", "201", "--emulator", "--dry-run", "--json"];
    const { exit, stdout } = await runCli(argv, { cwd });
    assert.deepEqual(
      [exit, JSON.parse(stdout)],
      [
        0,
        {
          dry_run: true,
          method: "POST",
          url: "http://emulator/api/v1/public/legal_intake/",
          headers: { accept: "application/json", "content-type": "application/json" },
          body: { title: "x", workflow_id: 201 },
        },
      ],
    );
    assert.deepEqual(await readdir(cwd), []);
  });

  it("prints the request with masked secrets and sends nothing", async (t) => {
    const { svc, json, emulator } = await startCliEmulator(t);
    const { exit, stdout } = await svc("intake create --title x --workflow-id 201 --dry-run --json");
    assert.deepEqual(
      [exit, JSON.parse(stdout)],
      [
        0,
        {
          dry_run: true,
          method: "POST",
          url: `${emulator.clusters[0]!.url}/api/v1/public/legal_intake/`,
          headers: {
            accept: "application/json",
            "content-type": "application/json",
            "client-id": "[hidden]",
            "client-secret": "[hidden]",
          },
          body: { title: "x", workflow_id: 201 },
        },
      ],
    );
    assert.deepEqual(await json("emulator requests --fields operation"), []);
  });

  it("prints any request of svc api, with its body", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "body.json"), '{"price":1.10,"client_secret":"s3cr3t"}');
    const argv = "api PATCH /x?token=s3cr3t --data body.json --dry-run --base-url http://127.0.0.1:9";
    const { exit, stdout, stderr } = await runCli(argv, { cwd, tty: true });
    const headers = "accept: */*\ncontent-type: application/json";
    const body = '{\n  "price": 1.10,\n  "client_secret": "[hidden]"\n}';
    assert.deepEqual(
      [exit, stdout, stderr],
      [0, `PATCH http://127.0.0.1:9/x?token=[hidden]\n${headers}\n\n${body}\n`, "Dry run: nothing was sent\n"],
    );
  });

  it("prints no body that is not JSON", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "scan.pdf"), "%PDF-1.7");
    const argv =
      "api PUT /x --data scan.pdf --header content-type:application/pdf --dry-run --base-url http://127.0.0.1:9";
    const { exit, stdout } = await runCli(argv, { cwd });
    const headers = "accept: */*\ncontent-type: application/pdf";
    assert.deepEqual([exit, stdout], [0, `PUT http://127.0.0.1:9/x\n${headers}\n\n[bytes]\n`]);
  });

  it("validates input and credentials", async () => {
    const nowhere = ["--base-url", "http://127.0.0.1:1", "--dry-run"];
    assert.equal((await runCli(["intake", "create", "--title", "x", ...nowhere])).exit, 2);
    assert.equal((await runCli(["intake", "create", "--title", "x", "--workflow-id", "1", ...nowhere])).exit, 4);
  });
});

const secret = "s3cr3t-invite";
const base = "http://127.0.0.1:1";

/** Runs a command with --dry-run in a folder with these files. Returns its output as text and as JSON. */
async function runDry(t: TestContext, argv: string, files: Readonly<Record<string, string>> = {}) {
  const cwd = await createTestFolder(t);
  for (const [name, content] of Object.entries(files)) await writeFile(join(cwd, name), content);
  const env = { SVC_STATE_DIR: cwd, SVC_CONFIG_DIR: cwd, SVC_CLUSTER_KEY: secret, SVC_EMULATOR_TOKEN: secret };
  const run = (more: string) => runCli(`${argv} --base-url ${base} --dry-run --verbose${more}`, { cwd, env });
  const [result, program] = [await run(""), await run(" --json")];
  assert.deepEqual([result.exit, program.exit], [0, 0], result.stderr + program.stderr);
  const output = [result, program].map(({ stdout, stderr }) => stdout + stderr).join("");
  assert.equal(output.includes(secret), false, output);
  return { people: result.stdout, program: JSON.parse(program.stdout) };
}

it("--dry-run prints numbers as they are sent", async (t) => {
  const cwd = await createTestFolder(t);
  const data = '{"external_metadata":{"id":"d","record_data":{"x":9007199254740993,"y":1.10}}}';
  await writeFile(join(cwd, "body.json"), data);
  const env = { SVC_CLIENT_ID: "a", SVC_CLIENT_SECRET: "b", SVC_BASE_URL: base };
  const argv = "contracts external-metadata put T-1 --data body.json --dry-run";
  const { stdout } = await runCli(argv, { cwd, env });
  assert.ok(stdout.replace(/\s/g, "").endsWith(data), stdout);
});

describe("secret masking of --dry-run", () => {
  it("masks the device code in the path", async (t) => {
    const { people, program } = await runDry(t, `api POST /_emulator/device-grants/${secret}`);
    assert.match(people, /\/device-grants\/\[hidden\]\n/);
    assert.match(program.url, /\/device-grants\/\[hidden\]$/);
  });

  it("masks secrets by parameter name in any query and path", async (t) => {
    const path = `/a/by_token/${secret}?code=${secret}&page=2&n[client_secret]=${secret}`;
    const { program } = await runDry(t, `api GET ${path}`);
    assert.equal(program.url, `${base}/a/by_token/[hidden]?code=[hidden]&page=2&n[client_secret]=[hidden]`);
  });

  it("masks nested secrets in the body but no other fields", async (t) => {
    const body = { cluster_id: "eu-1", tokens: [secret, secret] };
    const { people, program } = await runDry(t, "router map-creator-tokens --data b.json", {
      "b.json": JSON.stringify(body),
    });
    assert.deepEqual(program.body, { cluster_id: "eu-1", tokens: ["[hidden]", "[hidden]"] });
    assert.match(people, /"tokens": \[\n {4}"\[hidden\]",/);
  });

  it("masks tokens in the rows of a job", async (t) => {
    const { people, program } = await runDry(t, "router map-creator-tokens rows.txt --cluster eu-1", {
      "rows.txt": `${secret}\n`,
    });
    assert.deepEqual([program.sample, program.body], [["[hidden]"], { tokens: ["[hidden]"], cluster_id: "eu-1" }]);
    assert.match(people, /^ {2}\[hidden\]$/m);
  });

  it("masks the tokens of a workspace but shows its other identifiers", async (t) => {
    const rows = `client cli_1\ncreator-token ${secret}\nuser-code ${secret}\n`;
    const { people } = await runDry(t, "router offboard eu-1 --from rows.txt", { "rows.txt": rows });
    assert.match(people, /^ {2}client cli_1\n {2}creator-token \[hidden\]\n {2}user-code \[hidden\]$/m);
  });

  it("masks a secret in the address of a receiver", async (t) => {
    const to = `http://127.0.0.1:1/hooks?token=${secret}`;
    const { program } = await runDry(t, `webhooks replay hook.json --to ${to}`, {
      "hook.json": "{}",
      "hook.headers": "x: y\n",
    });
    assert.equal(program[0].url, "http://127.0.0.1:1/hooks?token=[hidden]");
  });
});

describe("invalid row with a token", () => {
  it("is reported by its number without printing the token", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "rows.txt"), `${secret} ${secret}\n`);
    const argv = `router map-creator-tokens rows.txt --cluster eu-1 --base-url ${base}`;
    const { exit, stderr } = await runCli(argv, { cwd, env: { SVC_STATE_DIR: cwd, SVC_CLUSTER_KEY: "k" } });
    assert.deepEqual([exit, stderr.includes(secret)], [2, false], stderr);
    assert.match(stderr, /row 1 \(\[hidden\]\) is not a valid creator invite token: it contains spaces/);
  });
});
