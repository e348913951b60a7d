import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { parseEnv } from "node:util";
import { formatVariables } from "../../../src/cli/commands/emulator/env.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { hasProgram } from "../../support/cli/terminal.ts";
import { startTestEmulator } from "../../support/emulator.ts";

/** An emulator with the state of a folder, like svc emulator start. */
async function startEmulatorInFolder(t: TestContext) {
  const cwd = await createTestFolder(t);
  return { cwd, twin: await startTestEmulator(t, { file: join(cwd, ".svc/emulator.json") }) };
}

/** Values that require correct quoting. */
const awkward = {
  SVC_PLAIN: "abc",
  SVC_QUOTES: `it's "so" \`called\``,
  SVC_SHELL: "$HOME $(id) \\n \\' !! * ~ #x; & | < > %PATH% ‘typographic’",
  SVC_LINES: "one\ntwo\n",
  SVC_EMPTY: "",
  SVC_TOKEN: undefined,
};

const printProgram = `const env = process.env; console.log(JSON.stringify(${JSON.stringify(Object.keys(awkward))}.map((name) => env[name] ?? null)))`;
const values = Object.values(awkward).map((value) => value ?? null);

describe("svc emulator env", () => {
  it("prints the variables of svc emulator exec and unsets those of other services", async (t) => {
    const { cwd, twin: emulator } = await startEmulatorInFolder(t);
    const { exit, stdout, stderr } = await runCli("emulator env --json", { cwd });
    const [eu, us] = emulator.clusters.map(({ id, url, clientId, clientSecret, clusterKey }) => ({
      id,
      url,
      client_id: clientId,
      client_secret: clientSecret,
      cluster_key: clusterKey,
    }));
    assert.deepEqual(
      [exit, stderr, JSON.parse(stdout)],
      [
        0,
        "",
        {
          SVC_BASE_URL: emulator.routerUrl,
          SVC_ROUTER_URL: emulator.routerUrl,
          SVC_CONTRACTS_URL: eu?.url,
          SVC_CLIENT_ID: eu?.client_id,
          SVC_CLIENT_SECRET: eu?.client_secret,
          SVC_CLUSTER_KEY: eu?.cluster_key,
          SVC_WEBHOOK_HMAC_KEY: emulator.clusters[0]?.hmacKey,
          SVC_EMULATOR_URL: emulator.controlUrl,
          SVC_EMULATOR_TOKEN: emulator.token,
          SVC_CLUSTERS: JSON.stringify([eu, us]),
        },
      ],
    );
    const bash = await runCli("emulator env", { cwd, env: { SHELL: "/bin/bash" } });
    assert.deepEqual(bash.stdout.split("\n").slice(-4), [
      "unset SVC_TOKEN",
      "unset SVC_PROFILE",
      "unset SVC_BASIC_AUTH",
      "",
    ]);
    const [byFish, byZsh] = await Promise.all(
      ["/usr/bin/fish", "/bin/zsh"].map((SHELL) => runCli("emulator env", { cwd, env: { SHELL } })),
    );
    assert.match(byFish!.stdout, /^set -gx SVC_BASE_URL '/);
    assert.equal(byZsh!.stdout, bash.stdout);
  });

  it("prints the variables of another workspace and lists all workspaces", async (t) => {
    const { cwd, twin: emulator } = await startEmulatorInFolder(t);
    const workspaces = (await emulator.control("GET", "workspaces")).body as Record<string, string | number>[];
    const { id, name, client_id, client_secret, hmac_key, cluster_id } = workspaces[1]!;
    const { url, clusterKey } = emulator.clusters.find((cluster) => cluster.id === cluster_id)!;
    for (const expected of [String(id), String(name)]) {
      const { stdout } = await runCli(["emulator", "env", "--workspace", expected, "--json"], { cwd });
      const { SVC_CONTRACTS_URL, SVC_CLIENT_ID, SVC_CLIENT_SECRET, SVC_CLUSTER_KEY, SVC_WEBHOOK_HMAC_KEY } =
        JSON.parse(stdout);
      assert.deepEqual(
        [SVC_CONTRACTS_URL, SVC_CLIENT_ID, SVC_CLIENT_SECRET, SVC_CLUSTER_KEY, SVC_WEBHOOK_HMAC_KEY],
        [url, client_id, client_secret, clusterKey, hmac_key],
      );
    }
    const workspaceList = workspaces.map((one) => `${one.id} (${one.name})`).join(", ");
    assert.deepEqual(await runCli("emulator env --workspace nobody", { cwd }), {
      exit: 2,
      stdout: "false\n",
      stderr: `error: Workspace "nobody" not found\n  Workspaces: ${workspaceList}.\n`,
    });
  });

  it("prints the public addresses for remote clients, while local commands use local addresses", async (t) => {
    const cwd = await createTestFolder(t);
    const emulator = await startTestEmulator(t, {
      file: join(cwd, ".svc/emulator.json"),
      publicUrl: "https://sandbox.example/twin",
      clusterUrls: { "eu-1": "https://eu.sandbox.example", "us-1": "https://us.sandbox.example" },
    });
    const { stdout } = await runCli("emulator env --json", { cwd });
    const { SVC_CLUSTERS, ...variables } = JSON.parse(stdout) as Record<string, string>;
    const addresses = Object.entries(variables).filter(([name]) => name.endsWith("_URL"));
    assert.deepEqual(Object.fromEntries(addresses), {
      SVC_BASE_URL: "https://sandbox.example/twin",
      SVC_ROUTER_URL: "https://sandbox.example/twin",
      SVC_CONTRACTS_URL: "https://eu.sandbox.example",
      SVC_EMULATOR_URL: "https://sandbox.example/twin/_emulator",
    });
    assert.deepEqual(
      (JSON.parse(SVC_CLUSTERS!) as { url: string }[]).map(({ url }) => url),
      ["https://eu.sandbox.example", "https://us.sandbox.example"],
    );
    const { body } = await emulator.control("GET", "clusters");
    assert.deepEqual(
      (body as { own_url: string }[]).map(({ own_url }) => own_url),
      emulator.clusters.map(({ url }) => url),
    );
    assert.equal((await runCli("contracts list", { cwd })).exit, 0);
    assert.equal((await runCli("router health", { cwd })).exit, 0);
  });

  it("prints commands that bash evaluates", { skip: !hasProgram("bash") }, async (t) => {
    const { cwd } = await startEmulatorInFolder(t);
    const { stdout } = await runCli("emulator env --shell bash", { cwd });
    const printed = execFileSync("bash", ["--norc", "-c", `eval "$TEXT"; "$NODE" -p 'JSON.stringify(process.env)'`], {
      env: { TEXT: stdout, NODE: process.execPath, SVC_TOKEN: "real", PATH: process.env.PATH },
      encoding: "utf8",
    });
    const { TEXT: _, NODE: __, ...env } = JSON.parse(printed) as Record<string, string>;
    assert.equal(env.SVC_TOKEN, undefined);
    const result = await runCli("contracts templates list --json=id", { env, cwd: "/nonexistent" });
    assert.deepEqual([result.exit, JSON.parse(result.stdout).length > 0], [0, true]);
  });

  for (const shell of ["bash", "zsh", "fish"] as const) {
    it(`prints values that ${shell} reads back unchanged`, { skip: !hasProgram(shell) }, async (t) => {
      const script = shell === "fish" ? 'eval "$TEXT"; $NODE -e $PRINT' : 'eval "$TEXT"; "$NODE" -e "$PRINT"';
      const env = {
        TEXT: formatVariables(awkward, shell),
        NODE: process.execPath,
        PRINT: printProgram,
        SVC_TOKEN: "real",
        HOME: await createTestFolder(t),
        PATH: process.env.PATH,
        LANG: "C.UTF-8",
      };
      assert.deepEqual(JSON.parse(execFileSync(shell, ["-c", script], { env, encoding: "utf8" })), values);
    });
  }

  it("prints a .env file and rejects values that its readers interpret differently", () => {
    const { SVC_QUOTES: _, SVC_LINES: __, ...fits } = awkward;
    const unquoted = { ...fits, SVC_SHELL: fits.SVC_SHELL.replaceAll("'", "") };
    assert.deepEqual({ ...parseEnv(formatVariables(unquoted, "dotenv")) }, { ...unquoted, SVC_TOKEN: "" });
    for (const value of [awkward.SVC_QUOTES, awkward.SVC_LINES]) {
      assert.throws(() => formatVariables({ SVC_X: value }, "dotenv"), /value of SVC_X cannot be written into a \.env/);
    }
  });

  it("doubles every PowerShell quote", () => {
    assert.equal(
      formatVariables({ SVC_X: "it's ‘so’", SVC_TOKEN: undefined }, "powershell"),
      "$env:SVC_X = 'it''s ‘‘so’’'\nRemove-Item Env:SVC_TOKEN -ErrorAction SilentlyContinue\n",
    );
  });

  it("supports the file of GitHub Actions and masks the secrets only in the log", async (t) => {
    assert.equal(
      formatVariables({ A: "x=y", B: "one\nend\ntwo", SVC_TOKEN: undefined }, "github"),
      "A=x=y\nB<<end_\none\nend\ntwo\nend_\nSVC_TOKEN=\n",
    );
    const { cwd, twin: emulator } = await startEmulatorInFolder(t);
    const { stdout, stderr } = await runCli("emulator env --shell github", { cwd, env: { GITHUB_ACTIONS: "true" } });
    const secrets = [
      emulator.token,
      ...emulator.clusters.flatMap((cluster) => [cluster.clientSecret, cluster.clusterKey, cluster.hmacKey]),
    ];
    assert.equal(stderr, secrets.map((secret) => `::add-mask::${secret}\n`).join(""));
    assert.deepEqual([stdout.includes("::"), stdout.startsWith(`SVC_BASE_URL=${emulator.routerUrl}\n`)], [false, true]);
  });

  it("prefers the emulator of this folder to an earlier emulator in the environment", async (t) => {
    const { cwd, twin: emulator } = await startEmulatorInFolder(t);
    const env = { SVC_EMULATOR_URL: "http://127.0.0.1:9/_emulator", SVC_EMULATOR_TOKEN: "of an earlier one" };
    assert.match((await runCli("emulator env --shell bash", { cwd, env })).stdout, new RegExp(`'${emulator.token}'`));
  });

  it("ends a script that evaluates its output if no emulator is running", { skip: !hasProgram("bash") }, async (t) => {
    const cwd = await createTestFolder(t);
    for (const [shell, output] of [
      ["bash", "false\n"],
      ["zsh", "false\n"],
      ["fish", "false\n"],
      ["powershell", "throw 'svc emulator env failed'\n"],
      ["dotenv", ""],
      ["github", ""],
    ]) {
      const { exit, stdout } = await runCli(`emulator env --shell ${shell}`, { cwd });
      assert.deepEqual([exit, stdout], [5, output], shell);
    }
    const { stdout } = await runCli("emulator env --shell bash", { cwd });
    const script = `set -e; eval "$OUTPUT"; echo "sent to the service of a profile"`;
    const { status, stdout: printed } = spawnSync("bash", ["-c", script], { env: { OUTPUT: stdout } });
    assert.deepEqual([status, String(printed)], [1, ""]);
  });

  it("prints no variables if no emulator is running or if it would end with the command", async (t) => {
    const cwd = await createTestFolder(t);
    const result = await runCli("emulator env", { cwd });
    assert.deepEqual([result.exit, result.stdout], [5, "false\n"]);
    assert.match(
      result.stderr,
      /No emulator is running \(state: .*\)\.\n.*\n {2}try: svc emulator start --detach( --port 0)?\n/,
    );
    const inside = await runCli("emulator env --emulator", { cwd });
    assert.deepEqual([inside.exit, inside.stdout], [2, "false\n"]);
  });
});
