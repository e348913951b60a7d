import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { type RunOptions, runCli } from "../../support/cli/run-cli.ts";
import { startTestEmulator } from "../../support/emulator.ts";
import { startReceiver } from "../../support/receiver.ts";

const state = ".svc/emulator.json";

/** A folder with a running emulator, a current profile, and a service that records its requests. */
async function startFolderEmulator(t: TestContext) {
  const cwd = await createTestFolder(t);
  const emulator = await startTestEmulator(t, { file: join(cwd, state) });
  const real = await startSpyServer(t);
  const config = await createTestFolder(t);
  const prod = { router_url: real.url, client_id: "real-id", client_secret: "real-secret" };
  await writeFile(join(config, "profiles.json"), JSON.stringify({ current: "prod", profiles: { prod } }));
  const svc = (argv: string, options: RunOptions = {}) =>
    runCli(argv, { cwd, ...options, env: { SVC_CONFIG_DIR: config, ...options.env } });
  return { cwd, twin: emulator, real, svc };
}

/** A service that responds with 404 to every request. */
async function startSpyServer(t: TestContext) {
  const requestLines: string[] = [];
  const server = createServer((request, response) => {
    requestLines.push(
      `${request.url} ${request.headers["client-id"] ?? ""} ${request.headers.authorization ?? ""}`.trim(),
    );
    response.writeHead(404, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen: requestLines };
}

describe("command in the folder of a running emulator", () => {
  it("uses the emulator with its credentials and prints one notice", async (t) => {
    const { svc, twin: emulator, real } = await startFolderEmulator(t);
    const env = { SVC_CLIENT_ID: "real-id", SVC_CLIENT_SECRET: "real-secret", SVC_CLUSTER_KEY: "real-key" };
    const { exit, stdout, stderr } = await svc("contracts templates list --fields id", { env });
    const note = `Using the emulator at ${emulator.routerUrl} (state: ${state}), not profile prod (to use it: --profile prod)\n`;
    const unused =
      "Ignored: SVC_CLIENT_ID, SVC_CLIENT_SECRET, SVC_CLUSTER_KEY (not known to this emulator; see svc help addresses)\n";
    assert.deepEqual([exit, stdout.includes("101"), stderr, real.seen], [0, true, note + unused, []]);
    assert.equal((await svc("contracts templates list --fields id --quiet")).stderr, "");
    const asJson = await svc("contracts templates list --json");
    assert.deepEqual([JSON.stringify(JSON.parse(asJson.stdout)).includes("101"), asJson.stderr], [true, note]);
  });

  it("has no sign-in from SVC_TOKEN, which is not sent to the emulator", async (t) => {
    const { svc } = await startFolderEmulator(t);
    const env = { SVC_TOKEN: "given" };
    for (const command of ["auth token", "auth status"]) {
      const { exit, stdout } = await svc(command, { env });
      assert.deepEqual([exit, stdout], [4, ""], command);
    }
  });

  it("prints a notice if the command requires an emulator, except in svc emulator", async (t) => {
    const { svc, twin: emulator } = await startFolderEmulator(t);
    const note = `Using the emulator at ${emulator.routerUrl} (state: ${state})`;
    const saidBy = async (argv: string) => (await svc(argv)).stderr.split("\n")[0];
    assert.deepEqual(
      [await saidBy("webhooks list"), await saidBy("webhooks why"), await saidBy("webhooks schedule")],
      [note, note, note],
    );
    assert.equal((await svc("emulator status")).stderr, "");
    const { stderr } = await svc("webhooks trigger CONTRACT_SIGNED --dry-run");
    assert.deepEqual(stderr.match(/Using the emulator/g)?.length ?? 0, 1, stderr);
  });

  it("prints no notice if the command uses another service", async (t) => {
    const { svc } = await startFolderEmulator(t);
    const other = await startTestEmulator(t);
    const [first] = other.clusters;
    const env = { SVC_BASE_URL: first!.url, SVC_CLIENT_ID: first!.clientId, SVC_CLIENT_SECRET: first!.clientSecret };
    const create = `contracts create --contract-template-id 101 --set contract_data={} --set counter_party_details=${JSON.stringify([{ is_individual: true, poc_details: { first_name: "Jo", email: "jo@acme.example" } }])}`;
    assert.equal((await svc(create, { env })).exit, 0);
    const { stderr } = await svc("contracts send T-1", { env });
    assert.equal(stderr, "Sent T-1. Next: svc contracts status T-1\n");
  });

  it("selects the workspace by the environment, with a secret that the emulator checks", async (t) => {
    const { svc, twin: emulator } = await startFolderEmulator(t);
    const workspaces = (await emulator.control("GET", "workspaces")).body as Record<
      "client_id" | "client_secret",
      string
    >[];
    const [, { client_id, client_secret }] = workspaces as [unknown, (typeof workspaces)[number]];
    const env = { SVC_CLIENT_ID: client_id, SVC_CLIENT_SECRET: client_secret };
    const listTemplates = async (overrides: object) => {
      const { exit, stdout, stderr } = await svc("contracts templates list --fields id", {
        env: { ...env, ...overrides },
      });
      return { exit, ids: stdout.trim().split("\n"), isUnused: stderr.includes("Not used") };
    };
    assert.deepEqual(await listTemplates({}), { exit: 0, ids: ["103"], isUnused: false });
    assert.deepEqual(await listTemplates({ SVC_CLIENT_SECRET: "wrong" }), { exit: 4, ids: [""], isUnused: false });
  });

  it("recognizes variables of svc emulator env and withholds unknown credentials", async (t) => {
    const { svc } = await startFolderEmulator(t);
    const env = JSON.parse((await svc("emulator env --json")).stdout) as Record<string, string>;
    const { SVC_CLIENT_ID, SVC_CLIENT_SECRET, SVC_CLUSTER_KEY, SVC_CLUSTERS } = env;
    const ownSettings = { SVC_CLIENT_ID, SVC_CLIENT_SECRET, SVC_CLUSTER_KEY, SVC_CLUSTERS };
    const unused = async (overrides: object) => {
      const { exit, stderr } = await svc("contracts templates list --emulator", {
        env: { ...ownSettings, ...overrides },
      });
      return [exit, /^Ignored: (.*) \(/m.exec(stderr)?.[1]];
    };
    assert.deepEqual(await unused({}), [0, undefined]);
    assert.deepEqual(await unused({ SVC_CLUSTER_KEY: "real-key" }), [0, "SVC_CLUSTER_KEY"]);
    const real = JSON.stringify([...JSON.parse(SVC_CLUSTERS!), { id: "eu-9", cluster_key: "real-key" }]);
    assert.deepEqual(await unused({ SVC_CLUSTERS: real }), [0, "SVC_CLUSTERS"]);
    assert.deepEqual(await unused({ SVC_CLUSTERS: "no list" }), [0, "SVC_CLUSTERS"]);
  });

  it("reports that the emulator overrides a profile and how to select the profile", async (t) => {
    const { svc } = await startFolderEmulator(t);
    const { exit, stderr } = await svc("config use prod");
    assert.deepEqual(
      [exit, stderr],
      [
        0,
        `Commands use profile prod from now on\nIn this folder the emulator with the state ${state} overrides it. To use the profile: --profile prod.\n`,
      ],
    );
  });

  it("names the profile that it uses after the emulator stops", async (t) => {
    const { svc, twin: emulator, real } = await startFolderEmulator(t);
    await emulator.close();
    const note = `warning: Using profile prod (${real.url}), because the emulator with the state ${state} is not running\n`;
    const { stderr } = await svc("contracts templates list --retries 0 --quiet");
    assert.deepEqual([stderr.startsWith(note), real.seen.length], [true, 1]);
    const result = await svc("contracts templates list --retries 0 --profile prod");
    assert.equal(result.stderr.includes("Using"), false);
  });

  it("verifies, explains and signs webhooks with the emulator's key by default", async (t) => {
    const { svc, cwd } = await startFolderEmulator(t);
    await writeFile(join(cwd, "body.json"), "{}");
    const note = `Using the key from the emulator with the state ${state}\n`;
    const signed = await svc("webhooks sign body.json");
    assert.deepEqual([signed.exit, signed.stderr], [0, note]);
    const signature = signed.stdout.trim();
    const verified = { exit: 0, stdout: "valid\n", stderr: note };
    assert.deepEqual(await svc(`webhooks verify body.json --signature ${signature}`), verified);
    const explained = { exit: 0, stdout: "The signature matches.\n", stderr: note };
    assert.deepEqual(await svc(`webhooks explain body.json --signature ${signature}`), explained);
    const env = { SVC_WEBHOOK_HMAC_KEY: Buffer.from("another key").toString("base64") };
    const otherResult = await svc(`webhooks verify body.json --signature ${signature}`, { env });
    assert.deepEqual([otherResult.exit, otherResult.stderr.includes("Using")], [1, false]);
  });

  it("separates the emulator's token and sign-in from those of a real service", async (t) => {
    const { svc, twin: emulator } = await startFolderEmulator(t);
    const { stderr } = await svc("oidc userinfo", { env: { SVC_TOKEN: "real-token" } });
    assert.match(stderr, /token/i);
    const { body } = await emulator.control("GET", "requests");
    const sent = (body as { items: { target: string; headers: Record<string, string> }[] }).items;
    assert.deepEqual(
      sent.filter(({ target }) => target.includes("userinfo")).map(({ headers }) => headers.authorization),
      [],
    );
  });

  for (const [label, argv, env] of [
    ["--base-url", "contracts templates list --base-url REAL", { SVC_CLIENT_ID: "real-id", SVC_CLIENT_SECRET: "x" }],
    [
      "the environment",
      "contracts templates list",
      { SVC_BASE_URL: "REAL", SVC_CLIENT_ID: "real-id", SVC_CLIENT_SECRET: "x" },
    ],
    ["--profile", "contracts templates list --profile prod", {}],
    ["SVC_PROFILE", "contracts templates list", { SVC_PROFILE: "prod" }],
  ] as const) {
    it(`prefers ${label} to the emulator and withholds the emulator's token`, async (t) => {
      const { svc, twin: emulator, real } = await startFolderEmulator(t);
      const substitute = (text: string) => text.replace("REAL", real.url);
      const filledEnv = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, substitute(value)]));
      const { stderr } = await svc(substitute(argv), { env: filledEnv });
      assert.deepEqual([stderr.includes("Using"), real.seen.length > 0], [false, true]);
      assert.deepEqual(new Set(real.seen.map((line) => line.split(" ")[1])), new Set(["real-id"]));
      assert.equal(JSON.stringify(real.seen).includes(emulator.token), false);
    });
  }

  it("shows the origin of values in config list and doctor", async (t) => {
    const { svc, twin: emulator } = await startFolderEmulator(t);
    const origin = `the emulator with the state ${state}`;
    const rows = JSON.parse((await svc("config list --json")).stdout) as {
      key: string;
      value: string;
      origin: string;
    }[];
    assert.deepEqual(
      rows.filter(({ key }) => ["router_url", "client_id", "client_secret"].includes(key)),
      [
        { key: "router_url", value: emulator.routerUrl, origin },
        { key: "client_id", value: emulator.clusters[0]?.clientId, origin },
        { key: "client_secret", value: "[hidden]", origin },
      ],
    );
    const checks = JSON.parse((await svc("doctor --json")).stdout) as { check: string; detail: string }[];
    assert.equal(checks.find(({ check }) => check === "services")?.detail, `Selected by ${origin}`);
  });
});

describe("untrusted run file", () => {
  it("is skipped if its emulator is gone, even if another user has its port", async (t) => {
    const { cwd, twin: emulator, svc, real } = await startFolderEmulator(t);
    const run = JSON.parse(await readFile(join(cwd, `${state}.run`), "utf8"));
    await emulator.close();
    for (const routerUrl of [run.router_url, real.url]) {
      await writeFile(join(cwd, `${state}.run`), JSON.stringify({ ...run, router_url: routerUrl }));
      const { stderr } = await svc("contracts templates list");
      assert.equal(stderr.includes("Using the emulator"), false);
    }
    assert.equal(JSON.stringify(real.seen).includes(run.token), false);
  });

  it("causes no request if it names another machine", async (t) => {
    const cwd = await createTestFolder(t);
    await mkdir(join(cwd, ".svc"));
    const content = { router_url: "http://emulator.example", token: "x", pid: process.pid, instance_id: "y" };
    await writeFile(join(cwd, `${state}.run`), JSON.stringify(content));
    const { exit, stderr } = await runCli("contracts templates list", { cwd });
    assert.deepEqual([exit, /No service address is configured/.test(stderr)], [2, true]);
  });

  it("prevents requests to other services while its emulator starts", async (t) => {
    const { cwd, svc, real } = await startFolderEmulator(t);
    const starting = createServer((_, response) => {
      response.writeHead(503, { "content-type": "application/json" }).end('{"instance_id":"y"}');
    });
    await new Promise<void>((resolve) => starting.listen(0, "127.0.0.1", resolve));
    t.after(() => void starting.close());
    const url = `http://127.0.0.1:${(starting.address() as AddressInfo).port}`;
    const content = JSON.parse(await readFile(join(cwd, `${state}.run`), "utf8"));
    await writeFile(join(cwd, `${state}.run`), JSON.stringify({ ...content, router_url: url, instance_id: "y" }));
    const { exit, stderr } = await svc("contracts templates list");
    assert.match(stderr, /The emulator of this folder is still starting\.\n {2}Try again in a moment/);
    assert.deepEqual([exit, real.seen], [75, []]);
  });

  it("shows how to end its emulator if that is suspended", async (t) => {
    const { cwd, svc } = await startFolderEmulator(t);
    const silent = await startReceiver(t);
    silent.respond((_, response) => void response.destroy());
    const content = JSON.parse(await readFile(join(cwd, `${state}.run`), "utf8"));
    await writeFile(join(cwd, `${state}.run`), JSON.stringify({ ...content, router_url: silent.url }));
    const { exit, stderr } = await svc("emulator stop");
    const hint = `It may be busy: try again. If it is suspended, resume it with fg. To end it, run kill -9 ${process.pid}.`;
    const error = `The emulator of this folder does not respond at ${silent.url}.`;
    assert.deepEqual([exit, stderr], [75, `error: ${error}\n  ${hint}\n`]);
  });
});
