import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { ndaContractJson } from "../../support/cli/nda.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startCommand } from "../../support/cli/running-command.ts";
import { startReceiver } from "../../support/receiver.ts";

async function startWithContract(t: TestContext) {
  const emulator = await startCliEmulator(t);
  await emulator.json("contracts create --data -", { stdin: ndaContractJson });
  return emulator;
}

/** A request log with one request after dropped ones. */
async function startResyncingLog(t: TestContext) {
  const { emulator } = await startCliEmulator(t);
  await emulator.router("GET", "/router/v1/clusters/");
  const { body } = await emulator.control("GET", "requests?operation=clusters.list");
  const { items } = body as { items: object[] };
  const service = await startReceiver(t);
  service.respond((_, response) =>
    response
      .writeHead(200, { "content-type": "text/event-stream" })
      .end(`event: resync\ndata: {"missed":12}\n\ndata: ${JSON.stringify(items[0])}\n\n`),
  );
  return { url: service.url, token: emulator.token };
}

describe("svc emulator wait-for", () => {
  it("ends when a contract has the awaited status", async (t) => {
    const { svc, json } = await startWithContract(t);
    const waiting = json("emulator wait-for --contract T-1 --status executed");
    await svc("contracts send T-1");
    await svc("emulator sign T-1");
    assert.deepEqual(await waiting, { contract_id: 1, composite_id: "T-1", contract_status: "EXECUTED" });
  });

  it("counts past events, or only new events with --new", async (t) => {
    const { svc, json } = await startWithContract(t);
    const past = await json<{ activity: string }[]>("emulator wait-for --activity CONTRACT_CREATED");
    assert.deepEqual(
      past.map(({ activity }) => activity),
      ["CONTRACT_CREATED"],
    );
    await svc("emulator clock advance --by PT1M");
    const result = await svc("emulator wait-for --activity CONTRACT_CREATED --new --wait-timeout 0s");
    assert.equal(result.exit, 75);
    assert.match(
      result.stderr,
      /Timed out after 0 s waiting for CONTRACT_CREATED \(virtual time: 2031-01-02T03:05:05\.000Z\)\./,
    );
    assert.match(result.stderr, /Seen: CONTRACT_CREATED of T-1 at 2031-01-02T03:04:05/);
  });

  it("advances virtual time to due entries and no further than necessary", async (t) => {
    const { svc, json } = await startWithContract(t);
    const app = await startReceiver(t);
    app.respond(500);
    await svc(["webhooks", "create", "--title", "x", "--url", app.url, "--only-for-activities", "CONTRACT_SIGNED"]);
    await svc("webhooks trigger CONTRACT_SIGNED");
    app.respond((_, response) => response.writeHead(app.received.length === 3 ? 200 : 500).end());
    const [delivery] = await json<{ outcome: string }[]>("emulator wait-for --outcome delivered --within PT3H");
    assert.equal(delivery!.outcome, "delivered");
    assert.equal((await json<{ now: string }>("emulator clock")).now, "2031-01-02T03:19:05.000Z");
  });

  it("exits with 75 at the end of virtual time and reports the closest matches", async (t) => {
    const { svc, json } = await startWithContract(t);
    const { exit, stderr } = await svc("emulator wait-for --contract T-1 --status EXECUTED --within 1h --json");
    assert.deepEqual(
      [exit, JSON.parse(stderr).error],
      [
        75,
        {
          code: "wait_timeout",
          message: "Timed out after 1 h of virtual time: T-1 is DRAFT, not EXECUTED.",
          hint: "Send the contract first, because the passing of time does not send it.",
          requestId: null,
          retryable: true,
          exitCode: 75,
          next: [{ argv: ["svc", "contracts", "send", "T-1"] }],
        },
      ],
    );
    assert.equal((await json<{ now: string }>("emulator clock")).now, "2031-01-02T04:04:05.000Z");
  });

  it("explains how to sign a contract without automatic signatures, and how to resume one on hold", async (t) => {
    const { svc } = await startWithContract(t);
    await svc("contracts send T-1");
    const { exit, stderr } = await svc("emulator wait-for --contract T-1 --status EXECUTED --within 1h");
    assert.equal(exit, 75);
    assert.match(stderr, /: T-1 is SIGN, not EXECUTED\.\n {2}try: svc emulator sign T-1\n$/);
    await svc("emulator hold T-1");
    const held = await svc("emulator wait-for --contract T-1 --status EXECUTED --within 1h");
    assert.match(held.stderr, /: T-1 is ON_HOLD, not EXECUTED\.\n {2}try: svc emulator resume T-1\n$/);
  });

  it("names the deliveries of a disabled webhook, which are skipped", async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const argv = ["--title", "x", "--url", "http://127.0.0.1:9/hook", "--only-for-activities", "CONTRACT_CREATED"];
    await svc(["webhooks", "create", ...argv]);
    await json("contracts create --data -", { stdin: ndaContractJson });
    const { exit, stderr } = await svc("emulator wait-for --outcome failed --webhook 1 --within PT6H --json");
    const { message, hint } = JSON.parse(stderr).error as { message: string; hint: string };
    assert.deepEqual(
      [exit, message, hint],
      [
        75,
        "Timed out after 6 h of virtual time waiting for failed (virtual time: 2031-01-02T09:04:05.000Z).",
        "Seen: delivery 1 CONTRACT_CREATED of T-1: skipped_disabled.",
      ],
    );
  });

  it("ends on Ctrl-C during the wait", async (t) => {
    const { svc } = await startWithContract(t);
    const waiting = startCommand(svc, ["emulator", "wait-for", "--activity", "CONTRACT_VOIDED"]);
    while ((await svc("emulator requests --operation clock.show --json=id")).stdout === "[]\n");
    waiting.signal("SIGINT");
    assert.equal((await waiting.completion).exit, 130);
  });

  for (const [argv, message] of [
    ["", "--activity, --outcome or --status is required"],
    ["--contract T-1", "--activity, --outcome or --status is required with --contract"],
    ["--status EXECUTED", "--contract is required with --status"],
    ["--status DONE --contract T-1", "--status must be one of DRAFT, REDLINING, SIGN, EXECUTED, ON_HOLD, VOIDED"],
    ["--status SIGN --contract T-1 --activity CONTRACT_SIGNED", "--status cannot be used with --activity or --outcome"],
    ["--activity CONTRACT_SIGNED --webhook 1", "--outcome is required with --webhook"],
    ["--activity CONTRACT_SINGED", "Did you mean CONTRACT_SIGNED?"],
    ["--activity CONTRACT_SIGNED --within soon", "--within must be a duration"],
  ] as const) {
    it(`exits with 2 for wait-for ${argv}`, async () => {
      const { exit, stdout, stderr } = await runCli(`emulator wait-for ${argv}`);
      assert.deepEqual([exit, stdout, stderr.includes(message)], [2, "", true], stderr);
    });
  }

  it("rejects an unknown contract or webhook", async (t) => {
    const { svc } = await startWithContract(t);
    const { exit, stderr } = await svc("emulator wait-for --contract T-9 --status SIGN");
    assert.deepEqual([exit, stderr.includes("Contract T-9 not found")], [5, true]);
    const webhook = await svc("emulator wait-for --outcome failed --webhook 77");
    assert.equal(webhook.exit, 5);
    assert.match(webhook.stderr, /^error: .*77.*\n/);
  });
});

describe("svc emulator requests", () => {
  it("lists received requests and follows new requests", async (t) => {
    const { svc, json } = await startWithContract(t);
    const requests = await json<{ operation: string }[]>("emulator requests --service contracts --json=operation");
    assert.deepEqual(requests, [{ operation: "contracts.create" }]);
    const usual = await svc("emulator requests --fields operation");
    assert.deepEqual(
      [usual.stdout, usual.stderr],
      ["contracts.create\n", "1 read of the control plane hidden. To show them: --reads\n"],
    );
    const result = await svc("emulator requests --fields operation --reads");
    assert.deepEqual([result.stdout, result.stderr], ["contracts.create\nrequests.list\nrequests.list\n", ""]);
    const watching = startCommand(svc, [
      "emulator",
      "requests",
      "--follow",
      "--service",
      "contracts",
      "--format",
      "ndjson",
    ]);
    await watching.saw('"version"');
    await svc("contracts status T-1");
    await svc("contracts status T-7");
    await watching.saw('"status":404');
    watching.signal("SIGTERM");
    assert.equal((await watching.completion).exit, 143);
    assert.deepEqual(
      watching
        .events()
        .slice(1)
        .map(({ operation, status }) => [operation, status]),
      [
        ["contracts.status", 200],
        ["contracts.status", 404],
      ],
    );
  });

  it("lists and follows the requests of one workspace", async (t) => {
    const { svc, json, emulator } = await startWithContract(t);
    const [{ id: first }, { id: second, cluster_id, client_id, client_secret }] =
      await json<[{ id: number }, { id: number; cluster_id: string; client_id: string; client_secret: string }]>(
        "emulator workspaces",
      );
    const requests = await json<unknown[]>(`emulator requests --workspace ${second} --json=operation`);
    assert.deepEqual(requests, []);
    const follow = ["emulator", "requests", "--follow", "--workspace", String(second), "--format", "ndjson"];
    const watching = startCommand(svc, follow);
    await watching.saw('"version"');
    await svc("contracts status T-1");
    const { url } = emulator.clusters.find(({ id }) => id === cluster_id)!;
    const headers = { "client-id": client_id, "client-secret": client_secret };
    await fetch(`${url}/api/v2.1/public/contracts/T-7/status`, { headers });
    await watching.saw('"status":404');
    watching.signal("SIGTERM");
    await watching.completion;
    const workspaces = watching
      .events()
      .slice(1)
      .map(({ workspace_id }) => workspace_id);
    assert.deepEqual([workspaces, first === second], [[second], false]);
  });

  it("prints one line per request for users with the reason of a rejection", async (t) => {
    const { svc } = await startWithContract(t);
    const watching = startCommand(svc, ["emulator", "requests", "--follow", "--service", "contracts"]);
    while (!watching.stderr().includes("Following")) await svc("emulator ready");
    await svc("contracts status T-7");
    await watching.saw("404");
    watching.signal("SIGINT");
    const { stdout } = await watching.completion;
    assert.match(
      stdout,
      /^2031-01-02T03:04:05\.000Z eu-1 GET \/api\/v2\.1\/public\/contracts\/T-7\/status 404 \d+ ms not-found\n$/,
    );
  });
});

describe("event stream with a slow reader", () => {
  for (const [line, lines] of [
    ["emulator requests --follow --format ndjson", ['{"type":"version","ui":"1.0"}', '{"type":"resync","missed":12}']],
    ["emulator watch-requests", []],
  ] as const) {
    it(`reports the number of dropped events: svc ${line}`, async (t) => {
      const { url, token } = await startResyncingLog(t);
      const { stdout, stderr } = await runCli(line.split(" "), {
        env: { SVC_EMULATOR_URL: `${url}/_emulator`, SVC_EMULATOR_TOKEN: token },
      });
      assert.match(stderr, /^12 dropped, because they were not read fast enough$/m);
      for (const each of lines) assert.ok(stdout.includes(each), stdout);
      assert.match(stdout, /clusters\.list/);
    });
  }
});

describe("svc emulator device", () => {
  for (const [verb, error, status] of [
    ["approve", undefined, "AUTHORIZED"],
    ["deny", "access_denied", "DENIED"],
  ] as const) {
    it(`lets a user ${verb} a device`, async (t) => {
      const { json, emulator } = await startCliEmulator(t);
      const { client_id } = (
        await emulator.router("POST", "/router/v1/oauth2.0/client/", { body: { client_name: "tv" } })
      ).body as { client_id: string };
      const { user_code, device_code } = (
        await emulator.router("POST", "/router/v1/oauth2.0/device/code/", { body: { client_id } })
      ).body as Record<string, string>;
      const decided = await json(["emulator", "device", verb, user_code!.toLowerCase()]);
      assert.deepEqual([decided.status, decided.cluster_id], [status, "eu-1"]);
      const polled = await emulator.router("POST", "/router/v1/oauth2.0/token/", {
        body: { client_id, device_code, grant_type: "urn:ietf:params:oauth:grant-type:device_code" },
      });
      assert.equal((polled.body as { error?: string }).error, error);
    });
  }

  it("rejects unknown codes", async (t) => {
    const { svc } = await startCliEmulator(t);
    const { exit, stderr } = await svc("emulator device approve XXXX-XXXX");
    assert.deepEqual(
      [exit, stderr],
      [5, "error: No device has the user code XXXX-XXXX (HTTP 404)\n  List the devices with `svc emulator devices`.\n"],
    );
  });
});
