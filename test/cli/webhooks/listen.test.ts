import assert from "node:assert/strict";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { contentHash } from "../../../src/schemes/webhook.ts";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { ndaContractJson } from "../../support/cli/nda.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startCommand } from "../../support/cli/running-command.ts";
import { startRawServer } from "../../support/raw-server.ts";
import { startReceiver } from "../../support/receiver.ts";

/** An emulator with one contract, and its key. */
async function startWithContract(t: TestContext) {
  const emulator = await startCliEmulator(t);
  await emulator.json("contracts create --data -", { stdin: ndaContractJson });
  const key = emulator.emulator.clusters[0]!.hmacKey!;
  return { ...emulator, key };
}

describe("svc webhooks listen", () => {
  it("creates a webhook, verifies deliveries and removes the webhook at the end", async (t) => {
    const { svc, json } = await startWithContract(t);
    const argv = "webhooks listen --activities contract_signed,CONTRACT_VOIDED --count 2 --json";
    const listening = startCommand(svc, argv.split(" "));
    await listening.saw('"ready"');
    const [subscription] = await json<{ id: number; only_for_activities: string[] }[]>("emulator webhooks");
    assert.deepEqual(subscription!.only_for_activities, ["CONTRACT_SIGNED", "CONTRACT_VOIDED"]);
    assert.equal((await svc("webhooks trigger CONTRACT_SIGNED")).exit, 0);
    assert.equal((await svc("webhooks trigger CONTRACT_VOIDED")).exit, 0);
    assert.equal((await listening.completion).exit, 0);
    const [version, ready, ...deliveries] = listening.events();
    assert.deepEqual(version, { type: "version", ui: "1.0" });
    assert.deepEqual([ready!.type, ready!.webhook_id], ["ready", subscription!.id]);
    assert.deepEqual(
      deliveries.map(({ at, bytes, ...rest }) => [typeof at, typeof bytes, rest]),
      ["CONTRACT_SIGNED", "CONTRACT_VOIDED"].map((activity, i) => [
        "string",
        "number",
        {
          type: "delivery",
          number: i + 1,
          path: "/",
          activity,
          contract_id: 1,
          verified: true,
          reason: null,
          file: null,
          forwarded: null,
        },
      ]),
    );
    assert.deepEqual(await json("emulator webhooks"), []);
  });

  it("accepts no more deliveries than requested, even while the last delivery is in progress", async (t) => {
    const { svc } = await startWithContract(t);
    const app = await startReceiver(t);
    let respond = () => {};
    const requestReceived = new Promise<void>((resolve) =>
      app.respond((_, response) => {
        respond = () => void response.end();
        resolve();
      }),
    );
    const argv = ["webhooks", "listen", "--activities", "CONTRACT_SIGNED", "--forward-to", app.url, "--count", "1"];
    const listening = startCommand(svc, [...argv, "--json"]);
    await listening.saw('"ready"');
    const { url } = listening.events()[1] as { url: string };
    const post = async () => (await fetch(url, { method: "POST", body: "{}" })).status;
    const first = post();
    await requestReceived;
    assert.equal(await post(), 503);
    respond();
    assert.deepEqual([await first, (await listening.completion).exit, app.received.length], [200, 0, 1]);
    assert.equal(listening.events().filter(({ type }) => type === "delivery").length, 1);
    assert.match(listening.stderr(), /is subscribed to 1 activity\n/);
  });

  it("rejects a request that is no delivery, neither counts nor forwards it", async (t) => {
    const { svc } = await startWithContract(t);
    const app = await startReceiver(t);
    const listening = startCommand(svc, ["webhooks", "listen", "--forward-to", app.url, "--count", "1", "--json"]);
    await listening.saw('"ready"');
    const { url } = listening.events()[1] as { url: string };
    const visit = await fetch(url);
    assert.deepEqual([visit.status, visit.headers.get("allow"), await visit.text()], [405, "POST", ""]);
    assert.equal((await svc("webhooks trigger CONTRACT_SIGNED")).exit, 0);
    assert.equal((await listening.completion).exit, 0);
    const deliveries = listening.events().filter(({ type }) => type === "delivery");
    assert.deepEqual(
      [deliveries.map(({ number, activity }) => [number, activity]), app.received.length],
      [[[1, "CONTRACT_SIGNED"]], 1],
    );
  });

  it("returns the app's response, including a 200 after a 100, a 204 with a body, and a 200 with a damaged one", async (t) => {
    const { svc } = await startWithContract(t);
    const app = await startRawServer(
      t,
      "HTTP/1.1 100 Continue\r\n\r\n",
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
    );
    const listening = startCommand(svc, ["webhooks", "listen", "--forward-to", app.url, "--count", "3", "--json"]);
    await listening.saw('"ready"');
    const { url } = listening.events()[1] as { url: string };
    const post = async () => {
      const response = await fetch(url, { method: "POST", body: "{}" });
      return [response.status, await response.text()];
    };
    const first = await post();
    app.respond("HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nok");
    const second = await post();
    app.respond("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\n\r\nok");
    assert.deepEqual(
      [first, second, await post()],
      [
        [200, "ok"],
        [204, ""],
        [200, ""],
      ],
    );
    assert.equal((await listening.completion).exit, 0);
  });

  it("prints the key of an emulator and removes webhooks of dead listeners", async (t) => {
    const { svc, json, emulator, key } = await startWithContract(t);
    const alive = await startReceiver(t);
    const body = (title: string, url: string) => ({ title, url, only_for_activities: ["CONTRACT_SIGNED"] });
    for (const [title, url] of [
      ["svc webhooks listen", "http://127.0.0.1:1/"],
      ["svc webhooks listen", alive.url],
      ["mine", "http://127.0.0.1:1/"],
    ] as const)
      await emulator.api("POST", "/api/v2.1/public/webhooks/", { body: body(title, url) });
    let output = "";
    const listening = svc("webhooks listen --activities CONTRACT_VOIDED --count 1", {
      onError: (stderr) => {
        if (stderr.includes("Listening on") && !output.includes("Listening on"))
          void svc("webhooks trigger CONTRACT_VOIDED");
        output = stderr;
      },
    });
    const { exit, stdout, stderr } = await listening;
    assert.deepEqual(
      [exit, stdout.replace(/\d\d:\d\d:\d\d/, "TIME")],
      [0, "--> TIME CONTRACT_VOIDED [T-1] verified\n"],
    );
    assert.ok(stderr.includes(`Webhook signing key: ${key}\n`), stderr);
    assert.ok(stderr.includes("Removed 1 webhook of stopped listeners"), stderr);
    const remaining = await json<{ title: string; url: string }[]>("webhooks list");
    assert.deepEqual(
      remaining.map(({ title, url }) => [title, url]),
      [
        ["svc webhooks listen", alive.url],
        ["mine", "http://127.0.0.1:1/"],
      ],
    );
  });

  it("forwards the raw bytes with their signature and returns the response", async (t) => {
    const { svc, json, key } = await startWithContract(t);
    const app = await startReceiver(t);
    app.respond((_, response) => response.writeHead(503, { "content-type": "text/plain" }).end("not now"));
    const to = `${app.url.replace("http://", "")}/hooks/`;
    const listening = startCommand(svc, [
      "webhooks",
      "listen",
      "--forward-to",
      to,
      "--header",
      "X-Tunnel: yes",
      "--header",
      "Host: app.example",
      "--count",
      "1",
      "--json",
    ]);
    await listening.saw('"ready"');
    const triggered = await svc("webhooks trigger CONTRACT_SIGNED --json");
    assert.equal(triggered.exit, 1);
    const [row] = JSON.parse(triggered.stdout) as { status: number; response_body: string; outcome: string }[];
    assert.deepEqual([row!.status, row!.response_body, row!.outcome], [503, "not now", "retrying"]);
    await listening.completion;
    const [request] = app.received;
    const { host, "x-tunnel": tunnel, "x-svc-webhook-content-hash": hash } = request!.headers;
    assert.deepEqual(
      [request!.method, request!.url, host, tunnel, hash],
      ["POST", "/hooks/", "app.example", "yes", contentHash(key, request!.body)],
    );
    const { items } = await json<{ items: { id: number }[] }>("webhooks deliveries");
    const sent = await json<{ request_body: string }>(`emulator deliveries show ${items[0]!.id}`);
    assert.equal(request!.body.toString(), sent.request_body);
    const { forwarded } = listening.events().at(-1) as { forwarded: { status: number } };
    assert.equal(forwarded.status, 503);
  });

  it("responds with 502 while the app is down, reports why and continues", async (t) => {
    const { svc } = await startWithContract(t);
    const listening = startCommand(svc, ["webhooks", "listen", "--forward-to", "1", "--count", "2"]);
    await waitForWebhook(svc);
    const first = await svc("webhooks trigger CONTRACT_SIGNED --json=status");
    const second = await svc("webhooks trigger CONTRACT_EXECUTED --json=status");
    assert.deepEqual(
      [first.exit, first.stdout, second.stdout],
      [1, '[\n  {\n    "status": 502\n  }\n]\n', first.stdout],
    );
    const { exit, stdout, stderr } = await listening.completion;
    assert.equal(exit, 0);
    assert.match(
      stdout,
      /^--> \d\d:\d\d:\d\d CONTRACT_SIGNED \[T-1\] verified\n<-- Failed to reach http:\/\/localhost:1: connection refused/,
    );
    assert.match(stderr, /Listening on http:\/\/127\.0\.0\.1:\d+ \(press Ctrl-C to stop\)/);
  });

  it("loses no delivery to an app that closes its idle connections when it wakes up", async (t) => {
    const { svc } = await startWithContract(t);
    const app = await startReceiver(t);
    const idle = new Set<unknown>();
    // A process that was stopped at a breakpoint first runs its timers, and then reads from its connections.
    app.respond((_, response) => {
      const { socket } = response;
      if (idle.has(socket)) return void response.destroy();
      idle.add(socket);
      response.end();
    });
    const listening = startCommand(svc, ["webhooks", "listen", "--forward-to", app.url, "--count", "2"]);
    await waitForWebhook(svc);
    const argv = "webhooks trigger CONTRACT_SIGNED --json=status";
    const triggered = [await svc(argv), await svc(argv)].map(({ stdout }) => JSON.parse(stdout) as unknown);
    assert.deepEqual(triggered, [[{ status: 200 }], [{ status: 200 }]]);
    assert.equal((await listening.completion).exit, 0);
  });

  it("names the target of a redirect that the app responds with, as does the diagnosis", async (t) => {
    const { svc } = await startWithContract(t);
    const app = await startReceiver(t);
    app.respond((_, response) => response.writeHead(307, { location: "/h\xc3\xb6ks?token=s3cret" }).end());
    const listening = startCommand(svc, ["webhooks", "listen", "--forward-to", `${app.url}/hooks/`]);
    await waitForWebhook(svc);
    await svc("webhooks trigger CONTRACT_SIGNED");
    const { stdout: diagnosis } = await svc("webhooks why");
    listening.signal("SIGINT");
    const { stdout } = await listening.completion;
    assert.match(stdout, /verified\n<-- 307 in \d+ ms: a redirect to \/höks\?token=…, which is not followed\n$/);
    assert.match(
      diagnosis,
      /the receiver responded 307, a redirect to \/höks\?token=\[redacted\]\. Redirects are not followed\.\n/,
    );
    assert.match(
      diagnosis,
      /\nRespond without a redirect, or send to its target \(--forward-to, or another webhook\)\.\n/,
    );
  });

  it("saves deliveries for unchanged verification and replay", async (t) => {
    const { svc, cwd } = await startWithContract(t);
    const listening = startCommand(svc, ["webhooks", "listen", "--save", "hooks", "--count", "2", "--json"]);
    await listening.saw('"ready"');
    await svc("webhooks trigger CONTRACT_SIGNED");
    await svc("webhooks trigger CONTRACT_EXECUTED");
    await listening.completion;
    const names = ["0001-CONTRACT_SIGNED", "0002-CONTRACT_EXECUTED"];
    assert.deepEqual(
      (await readdir(join(cwd, "hooks"))).sort(),
      names.flatMap((name) => [`${name}.headers`, `${name}.json`]),
    );
    assert.equal((await stat(join(cwd, "hooks", "0001-CONTRACT_SIGNED.json"))).mode & 0o777, 0o600);
    assert.equal((await svc("webhooks verify hooks/0001-CONTRACT_SIGNED.json")).stdout, "valid\n");

    const app = await startReceiver(t);
    const result = await svc(["webhooks", "replay", "hooks/0001-CONTRACT_SIGNED.json", "--to", app.url, "--json"]);
    assert.equal(result.exit, 0);
    const latest = await svc(["webhooks", "replay", "--last", "1", "--from", "hooks", "--to", app.url]);
    assert.match(latest.stdout, /^--> .*0002-CONTRACT_EXECUTED\.json http.*\n<-- 200 in \d+ ms\n$/);
    const bodies = await Promise.all(names.map((name) => readFile(join(cwd, "hooks", `${name}.json`))));
    assert.deepEqual(
      app.received.map(({ body }) => body),
      bodies,
    );
    await writeFile(join(cwd, "body"), Buffer.from(bodies[0]!));
    const headers = app.received[0]!.headers;
    const verified = ["webhooks", "verify", "body", "--signature", String(headers["x-svc-webhook-content-hash"])];
    assert.equal((await svc(verified)).exit, 0);
  });

  it("ends with the reason if a delivery cannot be saved, and removes the webhook", async (t) => {
    const { svc, json, cwd } = await startWithContract(t);
    const listening = startCommand(svc, ["webhooks", "listen", "--save", "hooks", "--json"]);
    await listening.saw('"ready"');
    await rm(join(cwd, "hooks"), { recursive: true });
    await svc("webhooks trigger CONTRACT_SIGNED");
    const { exit, stderr } = await listening.completion;
    assert.equal(exit, 1);
    const { message } = JSON.parse(stderr.trim().split("\n").at(-1)!).error;
    const path = join(cwd, "hooks/0001-CONTRACT_SIGNED.headers");
    assert.equal(message, `Failed to open ${path}: it does not exist (ENOENT).`);
    assert.deepEqual(await json("emulator webhooks"), []);
  });

  it("rejects an unsigned body and reports the mistakes of signed bodies", async (t) => {
    const { svc, key } = await startWithContract(t);
    const listening = startCommand(svc, ["webhooks", "listen", "--count", "4", "--json"]);
    await listening.saw('"ready"');
    const url = String(listening.events()[1]!.url);
    const body = '{"activity":"X"}';
    const name = "x-svc-webhook-content-hash";
    const good = contentHash(key, body);
    const cases: [Record<string, string>, string, number, string | null][] = [
      [{}, body, 401, "missing"],
      [{ [name]: good.toUpperCase() }, body, 401, "malformed"],
      [{ [name]: good }, `${body} `, 401, "mismatch"],
      [{ [name]: good }, body, 200, null],
    ];
    const statuses: number[] = [];
    for (const [headers, text] of cases)
      statuses.push((await fetch(url, { method: "POST", headers, body: text })).status);
    assert.deepEqual(
      statuses,
      cases.map(([, , status]) => status),
    );
    await listening.completion;
    const reasons = listening
      .events()
      .slice(2)
      .map(({ reason }) => reason);
    assert.deepEqual(
      reasons,
      cases.map(([, , , reason]) => reason),
    );
  });

  it("exits with 130 on Ctrl-C and leaves no webhook behind", async (t) => {
    const { svc, json } = await startWithContract(t);
    const listening = startCommand(svc, ["webhooks", "listen", "--json"]);
    await listening.saw('"ready"');
    assert.equal((await json<unknown[]>("emulator webhooks")).length, 1);
    listening.signal("SIGINT");
    assert.equal((await listening.completion).exit, 130);
    assert.deepEqual(await json("emulator webhooks"), []);
  });

  it("only listens without a service and prints how to register the receiver", async () => {
    const key = Buffer.alloc(64, 7).toString("base64");
    const listening = startCommand(
      runCli,
      ["webhooks", "listen", "--activities", "CONTRACT_SIGNED", "--count", "1", "--format", "ndjson"],
      { env: { SVC_WEBHOOK_HMAC_KEY: key } },
    );
    await listening.saw('"ready"');
    assert.match(
      listening.stderr(),
      /svc webhooks create --title listen --url https:\/\/YOUR-TUNNEL\/ --only-for-activities CONTRACT_SIGNED/,
    );
    assert.equal(listening.events()[1]!.webhook_id, null);
    await fetch(String(listening.events()[1]!.url), { method: "POST", body: "{}" });
    assert.equal((await listening.completion).exit, 0);
    assert(!listening.stderr().includes(key));
  });

  it("prints only the key for --print-secret", async (t) => {
    const { svc, key } = await startWithContract(t);
    assert.deepEqual(await svc("webhooks listen --print-secret", { env: { SVC_WEBHOOK_HMAC_KEY: "" } }), {
      exit: 0,
      stdout: `${key}\n`,
      stderr: "",
    });
    const { stdout } = await svc("webhooks listen --print-secret --json", { env: { SVC_WEBHOOK_HMAC_KEY: "" } });
    assert.deepEqual(JSON.parse(stdout), { hmac_key: key });
  });

  for (const [argv, message] of [
    ["--activities CONTRACT_SINGED", 'Activity "CONTRACT_SINGED" not found.\n  Did you mean CONTRACT_SIGNED?'],
    ["--forward-to ftp://x", "--forward-to must be a URL (http://localhost:3000/hooks, 3000/hooks)"],
    ["--forward-to 99999", '--forward-to must be a port up to 65535, or a URL, got "99999"'],
    ["--header nonsense", '--header must be NAME:VALUE, got "nonsense…"'],
    ["--header x-note:漢", '--header must be NAME:VALUE, got "x-note…"'],
    ["--header content-length:1", "--header cannot set content-length, because svc manages the headers of the"],
    ["--count 0", "must be at least 1, got"],
  ] as const) {
    it(`exits with 2 for ${argv}`, async () => {
      const { exit, stdout, stderr } = await runCli(`webhooks listen ${argv}`);
      assert.deepEqual([exit, stdout, stderr.includes(message)], [2, "", true], stderr);
    });
  }

  it("reports a port in use and an invalid key", async (t) => {
    const { svc, emulator } = await startWithContract(t);
    const port = new URL(emulator.routerUrl).port;
    const result = await svc(`webhooks listen --port ${port}`);
    assert.deepEqual([result.exit, result.stderr.includes(`Port ${port} is taken.`)], [1, true]);
    const bad = await svc("webhooks listen", { env: { SVC_WEBHOOK_HMAC_KEY: "no key!" } });
    assert.deepEqual([bad.exit, bad.stderr.includes("the key is not base64")], [2, true]);
  });
});

async function waitForWebhook(svc: (argv: string) => Promise<{ stdout: string }>): Promise<void> {
  while (JSON.parse((await svc("emulator webhooks --json")).stdout).length === 0);
}
