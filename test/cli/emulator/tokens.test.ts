import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startCommand } from "../../support/cli/running-command.ts";
import { createDraftContract } from "../../support/contracts.ts";
import { startReceiver } from "../../support/receiver.ts";

describe("address without a control plane", () => {
  it("is reported before any change", async (t) => {
    const { emulator, svc } = await startCliEmulator(t);
    const createEnvironment = (url: string) => ({ env: { SVC_EMULATOR_URL: url, SVC_EMULATOR_TOKEN: emulator.token } });
    const cluster = await svc(
      "emulator clock advance --by PT1H",
      createEnvironment(`${emulator.clusters[0]!.url}/_emulator`),
    );
    assert.deepEqual([cluster.exit, cluster.stdout], [5, ""]);
    assert.match(cluster.stderr, /\(HTTP 404\)/);
    const path = await svc("emulator clock advance --by PT1H", createEnvironment(`${emulator.routerUrl}/nonsense`));
    assert.deepEqual([path.exit, path.stdout], [1, ""]);
    assert.match(path.stderr, /did not recognize POST .*\/clock\/advance and forwarded it/);
    assert.equal(new Date(emulator.clock.now()).toISOString(), "2031-01-02T03:04:05.000Z");
  });
});

describe("svc emulator tokens", () => {
  it("shows the status to the token of a workspace, without sizes of shared buffers", async (t) => {
    const { json } = await startCliEmulator(t);
    const { token } = await json<{ token: string }>([
      "emulator",
      "tokens",
      "create",
      "team",
      "--role",
      "read",
      "--workspace",
      "Fabrikam Sales",
    ]);
    const status = await json<object>("emulator status", { env: { SVC_EMULATOR_TOKEN: token } });
    const names = ["running", "router_url", "instance_id", "now", "mode", "speed", "next_due", "pending"];
    assert.deepEqual(Object.keys(status), names);
  });

  it("rejects a misspelled workspace before it sends the request", async (t) => {
    const { svc } = await startCliEmulator(t);
    const result = await svc("emulator tokens create ci --role operate --set workspce=Contoso");
    const message = 'error: the body must not contain "workspce" (allowed: role, workspace)';
    assert.deepEqual([result.exit, result.stdout, result.stderr.split("\n")[0]], [2, "", message]);
  });

  it("replays deliveries with a key from a file if its token cannot read keys", async (t) => {
    const { svc, json, emulator, cwd } = await startCliEmulator(t);
    await svc("webhooks create --title a --url http://127.0.0.1:9/ --only-for-activities CONTRACT_CREATED");
    await createDraftContract(emulator.api);
    await writeFile(join(cwd, "hmac.key"), (await svc("webhooks hmac-key")).stdout);
    const { token } = await json<{ token: string }>("emulator tokens create ci --role read");
    const app = await startReceiver(t);
    const replay = (more: string) =>
      svc(`webhooks replay --last 1 --to ${app.url}${more}`, { env: { SVC_EMULATOR_TOKEN: token } });
    assert.deepEqual(await replay(""), {
      exit: 4,
      stdout: "",
      stderr:
        "error: This token cannot read the signing keys of the emulator.\n  Use --key-file, or request a token with the role operate from the operator of the emulator.\n",
    });
    assert.equal((await replay(" --key-file hmac.key")).exit, 0);
  });

  it("creates a token, lists it without its value and revokes it", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const { token, ...created } = await json<{ token: string }>("emulator tokens create ci --role operate");
    assert.deepEqual(created, { name: "ci", role: "operate" });
    const asCi = { env: { SVC_EMULATOR_TOKEN: token } };
    assert.equal((await svc("emulator clock advance --by PT5M", asCi)).exit, 0);
    const result = await svc("emulator reset --yes", asCi);
    assert.deepEqual(
      [result.exit, result.stdout, result.stderr.split("\n")[0]],
      [4, "", "error: The role admin is required. The token ci has the role operate (HTTP 403)"],
    );

    const list = await svc("emulator tokens list --fields name,role");
    assert.deepEqual([list.exit, list.stdout.includes(token)], [0, false]);
    const [row] = await json<{ last_used_at: string | null }[]>("emulator tokens list");
    assert.notEqual(row!.last_used_at, null);
    const { items } = await json<{ items: { operation: string; caller: string }[] }>("emulator requests");
    assert.deepEqual(
      items.filter(({ operation }) => operation === "clock.advance").map(({ caller }) => caller),
      ["ci"],
    );

    assert.equal((await svc("emulator tokens revoke ci")).exit, 2);
    assert.equal((await svc("emulator tokens revoke ci --yes")).exit, 0);
    assert.equal((await svc("emulator clock", asCi)).exit, 4);
    assert.deepEqual(await json("emulator tokens list"), []);
  });

  it("lets GitHub Actions mask each secret that a command prints", async (t) => {
    const { svc } = await startCliEmulator(t);
    const env = { GITHUB_ACTIONS: "true", SVC_TOKEN: "given-token" };
    for (const [line, member] of [
      ["emulator tokens create run --role read", "token"],
      ["emulator workspaces create --name Run", "hmac_key"],
      ["webhooks hmac-key", "hmac_key"],
      ["webhooks listen --print-secret", "hmac_key"],
      ["auth token", "access_token"],
    ] as const) {
      const { stdout, stderr } = await svc(`${line} --json`, { env });
      const secret = (JSON.parse(stdout) as Record<string, string>)[member]!;
      assert.ok(stderr.includes(`::add-mask::${secret}\n`), line);
    }
  });

  it("lets GitHub Actions mask no ordinary word, which would disappear from the whole log", async (t) => {
    const { emulator, svc } = await startCliEmulator(t);
    await createDraftContract(emulator.api);
    const put = "contracts external-metadata put T-1 --set external_metadata.record_data.currency_code=EUR";
    for (const line of [put, "emulator requests --json"]) {
      const { stdout, stderr } = await svc(line, { env: { GITHUB_ACTIONS: "true" } });
      assert.match(stdout, /EUR|"client-secret": "\[redacted\]"/, line);
      assert.doesNotMatch(stderr, /add-mask/, line);
    }
  });

  for (const line of ["emulator deliveries --follow", "emulator events"]) {
    it(`tells a follower that its token was revoked, not that the emulator has ended: ${line}`, async (t) => {
      const { svc, json } = await startCliEmulator(t);
      const { token } = await json<{ token: string }>("emulator tokens create ci --role read");
      const watching = startCommand(svc, line.split(" "), { env: { SVC_EMULATOR_TOKEN: token } });
      while (!watching.stderr().includes("Following")) await svc("emulator ready");
      assert.equal((await svc("emulator tokens revoke ci --yes")).exit, 0);
      const { exit, stderr } = await watching.completion;
      assert.deepEqual(
        [exit, stderr.split("\n").slice(0, 2)],
        [
          4,
          [
            "Following (press Ctrl-C to stop)",
            "error: The control token is invalid: it is unknown or revoked, or its session has ended (HTTP 401)",
          ],
        ],
      );
    });
  }
});

/** A shared emulator, and another folder with profiles. */
async function startSharedEmulator(t: TestContext) {
  const { emulator, cwd, json } = await startCliEmulator(t);
  const { token } = await json<{ token: string }>("emulator tokens create ada --role read");
  const env = { SVC_CONFIG_DIR: cwd };
  const svc = (line: string, more: Record<string, string> = {}) => runCli(line, { cwd, env: { ...env, ...more } });
  await writeFile(join(cwd, "token.txt"), `${token}\n`, { mode: 0o600 });
  return { emulator, cwd, token, svc };
}

describe("profile with a shared emulator", () => {
  it("directs commands to the emulator with its own token, which is never shown", async (t) => {
    const { emulator, token, svc } = await startSharedEmulator(t);
    assert.equal((await svc("emulator clock")).exit, 5);
    assert.equal((await svc(`config set emulator_url ${emulator.controlUrl}`)).exit, 0);
    assert.equal((await svc("config set emulator_token --secret-file token.txt")).exit, 0);
    assert.equal((await svc("emulator clock")).exit, 0);
    assert.equal((await svc("emulator clock advance --by PT1S")).exit, 4);
    const { stdout } = await svc("config list --json");
    assert.deepEqual([stdout.includes(emulator.routerUrl), stdout.includes(token)], [true, false]);
  });

  it("yields to the environment and withholds its token from other services", async (t) => {
    const { emulator, svc } = await startSharedEmulator(t);
    const otherEmulator = await startCliEmulator(t);
    await svc(`config set emulator_url ${emulator.controlUrl}`);
    await svc("config set emulator_token --secret-file token.txt");
    const ofOther = {
      SVC_EMULATOR_URL: otherEmulator.emulator.controlUrl,
      SVC_EMULATOR_TOKEN: otherEmulator.emulator.token,
    };
    assert.equal((await svc("emulator clock advance --by PT1S", ofOther)).exit, 0);
    assert.equal((await svc("emulator clock --profile default", ofOther)).exit, 0);
    assert.equal((await svc("emulator clock advance --by PT1S --profile default", ofOther)).exit, 4);
  });

  it("is not replaced by another emulator if it names none", async (t) => {
    const { svc, json, cwd } = await startCliEmulator(t);
    const profiles = { staging: { router_url: "http://127.0.0.1:9" } };
    await writeFile(join(cwd, "profiles.json"), JSON.stringify({ profiles }), { mode: 0o600 });
    await json("router map-emails --email-hash-list jo@x.example --cluster eu-1");
    const { exit, stderr } = await svc("emulator reset --yes --profile staging");
    assert.deepEqual([exit, stderr.split("\n")[0]], [5, "error: Profile staging names no emulator."]);
    assert.equal((await svc("router show-email jo@x.example")).exit, 0, "its state is the same as before");
  });

  it("applies to webhooks, env and doctor with the workspace of its token or key", async (t) => {
    const { emulator, cwd, json } = await startCliEmulator(t);
    const { client_id } = await json<{ client_id: string }>(["emulator", "workspaces", "create", "--name", "Team A"]);
    const bind = ["emulator", "tokens", "create", "team-a", "--role", "operate", "--workspace", "Team A"];
    const { token } = await json<{ token: string }>(bind);
    const profile = { router_url: emulator.routerUrl, emulator_url: emulator.controlUrl };
    const profiles = {
      team: { ...profile, emulator_token: token },
      key: { ...profile, emulator_token: emulator.token, client_id, client_secret: "s3cret" },
    };
    await writeFile(join(cwd, "profiles.json"), JSON.stringify({ current: "team", profiles }), { mode: 0o600 });
    const svc = (line: string) => runCli(line, { cwd, env: { SVC_CONFIG_DIR: cwd } });
    for (const profileFlag of ["", " --profile key"]) {
      const { exit, stdout, stderr } = await svc(`emulator env --json${profileFlag}`);
      const env = JSON.parse(stdout);
      assert.deepEqual([exit, stderr, env.SVC_CLIENT_ID], [0, "", client_id]);
      assert.equal("SVC_CLUSTER_KEY" in env, profileFlag !== "", "the key of a cluster is that of all its workspaces");
      assert.ok(!stdout.includes("[hidden"));
      assert.deepEqual(await svc(`webhooks deliveries --quiet${profileFlag}`), { exit: 0, stdout: "", stderr: "" });
      assert.equal((await svc(`webhooks list --quiet${profileFlag}`)).exit, 0);
      assert.match((await svc(`webhooks why${profileFlag}`)).stderr, /No webhooks found\./);
      const checks = JSON.parse((await svc(`doctor --json${profileFlag}`)).stdout) as {
        check: string;
        detail: string;
      }[];
      const found = checks.find(({ check }) => check === "emulator");
      assert.equal(found?.detail, `${emulator.routerUrl} (profile ${profileFlag === "" ? "team" : "key"})`);
    }
  });

  it("diagnoses the webhooks of its workspace", async (t) => {
    const { emulator, cwd, svc, json } = await startCliEmulator(t);
    await svc("webhooks create --title Mine --url http://127.0.0.1:9/hook --only-for-activities CONTRACT_CREATED");
    await createDraftContract(emulator.api);
    await emulator.clock.advance({ by: 1_000 });
    const bind = ["emulator", "tokens", "create", "team", "--role", "read", "--workspace", "1"];
    const { token } = await json<{ token: string }>(bind);
    const env = { SVC_CONFIG_DIR: cwd, SVC_EMULATOR_URL: emulator.controlUrl, SVC_EMULATOR_TOKEN: token };
    const { exit, stdout, stderr } = await runCli("webhooks why", { cwd, env });
    assert.deepEqual(
      [exit, stderr],
      [1, "Faults are not checked: a token that is bound to a workspace cannot list them.\n"],
    );
    assert.match(stdout, /\nLast attempt: connection refused\.\n/);
  });

  it("tells how to reach the services if the profile names only the control plane", async (t) => {
    const { emulator, cwd, svc } = await startSharedEmulator(t);
    await svc(`config set emulator_url ${emulator.controlUrl}`);
    await mkdir(join(cwd, ".svc"));
    await writeFile(join(cwd, ".svc/emulator.json"), "{}");
    const { exit, stdout, stderr } = await svc("contracts list");
    assert.deepEqual(
      [exit, stdout, stderr],
      [
        2,
        "",
        "error: No service address is configured.\n" +
          "  To start the emulator of .svc/emulator.json, run svc emulator start --detach. The address in profile default in " +
          `${join(cwd, "profiles.json")} is only that of its control plane: for all variables, run ` +
          'eval "$(svc emulator env)". Or use --base-url URL, set SVC_BASE_URL, or choose a --profile.\n',
      ],
    );
  });

  it("provides no variables to a token that cannot read the secrets", async (t) => {
    const { emulator, svc } = await startSharedEmulator(t);
    await svc(`config set emulator_url ${emulator.controlUrl}`);
    await svc("config set emulator_token --secret-file token.txt");
    assert.deepEqual(await svc("emulator env"), {
      exit: 4,
      stdout: "false\n",
      stderr:
        "error: This token cannot read the emulator's API keys.\n  Its role is read. Request one with the role operate from the operator of the emulator.\n",
    });
  });
});
