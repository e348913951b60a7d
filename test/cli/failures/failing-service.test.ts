import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { runCli } from "../../support/cli/run-cli.ts";
import { startReceiver } from "../../support/receiver.ts";
import { getSvcPath } from "../../support/shipped.ts";

const instantly = { now: () => Date.now(), monotonicNow: () => Date.now(), sleep: async () => {} };
const key = { SVC_CLIENT_ID: "id", SVC_CLIENT_SECRET: "very-secret" };

describe("svc with a failing service", () => {
  it("exits with 75 and one message if the service is unreachable", async () => {
    const { exit, stdout, stderr } = await runCli("router health --base-url http://127.0.0.1:1", { wall: instantly });
    assert.deepEqual([exit, stdout], [75, ""]);
    assert.match(stderr, /^error: Failed to reach http:\/\/127.0.0.1:1: connection refused \(ECONNREFUSED\)\.\n.*\n$/);
  });

  const cases: [string, Parameters<Awaited<ReturnType<typeof startReceiver>>["respond"]>[0], number, RegExp][] = [
    ["responds with 500 to every attempt", 500, 75, /\(HTTP 500\)/],
    [
      "responds with HTML",
      (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
      1,
      /Expected JSON, but the service responded 200 with HTML/,
    ],
    [
      "truncates its response",
      (_, response) => void response.writeHead(200, { "content-length": 99 }).write("{", () => response.destroy()),
      75,
      /Request to \S+ failed: the connection was closed/,
    ],
    ["responds with an undeclared status", (_, response) => response.writeHead(418).end(), 1, /\(HTTP 418\)/],
    [
      "forwards an unknown request",
      (_, response) => response.writeHead(200, { "x-svc-matched": "catch-all" }).end("{}"),
      1,
      /declared path is GET \//,
    ],
    [
      "requests a wait that is too long",
      (_, response) => response.writeHead(429, { "retry-after": "999" }).end("{}"),
      75,
      /requests a wait of 999 s/,
    ],
  ];
  for (const [label, respond, exit, message] of cases) {
    it(`exits with ${exit} if the service ${label}`, async (t) => {
      const service = await startReceiver(t);
      service.respond(respond);
      const result = await runCli(["router", "health", "--base-url", service.url], { wall: instantly });
      assert.match(result.stderr, message);
      assert.deepEqual([result.exit, result.stdout], [exit, ""]);
    });
  }

  it("exits with 75 if a proxy responds with a page because its server is down, or limits the rate", async (t) => {
    const proxy = await startReceiver(t);
    for (const [status, reason, hint] of [
      [503, "The service failed", "The service has a problem. Try again later. To print each attempt, use --verbose."],
      [429, "The service rejected the request", "Too many requests. Try again later, or use --retries and --max-wait."],
    ] as const) {
      proxy.respond((_, response) => response.writeHead(status, { "content-type": "text/html" }).end("<html>"));
      for (const line of ["emulator status", "webhooks why", "router health"]) {
        const env = { SVC_EMULATOR_URL: proxy.url, SVC_EMULATOR_TOKEN: "t", SVC_BASE_URL: proxy.url };
        const { exit, stderr } = await runCli(`${line} --retries 0`, { wall: instantly, env });
        assert.deepEqual([exit, stderr], [75, `error: ${reason} (HTTP ${status})\n  ${hint}\n`]);
      }
    }
  });

  it("exits with 75 after --timeout if the service hangs", async (t) => {
    const service = await startReceiver(t);
    service.respond(() => {});
    const { exit, stderr } = await runCli([
      "router",
      "health",
      "--base-url",
      service.url,
      "--timeout",
      "200ms",
      "--retries",
      "0",
    ]);
    assert.deepEqual([exit, stderr.includes("no response within")], [75, true]);
  });

  it("retries after the requested wait with a message on standard error", async (t) => {
    const service = await startReceiver(t);
    service.respond((_, response) => {
      const isFirst = service.received.length === 1;
      response.writeHead(isFirst ? 429 : 200, isFirst ? { "retry-after": "7" } : {}).end('{"database":true}');
    });
    const { exit, stdout, stderr } = await runCli(["router", "health", "--base-url", service.url], { wall: instantly });
    assert.deepEqual([exit, stdout], [0, "true\n"]);
    assert.match(stderr, /rate limited, resuming in [78]\.\d s/);
  });

  it("reports an unknown outcome if a POST fails and suggests no repetition", async (t) => {
    const service = await startReceiver(t);
    service.respond(503);
    const line = ["contracts", "send", "T-1", "--json", "--base-url", service.url];
    const { exit, stdout, stderr } = await runCli(line, { wall: instantly, env: key });
    assert.deepEqual([exit, stdout, service.received.length], [1, "", 1]);
    assert.deepEqual(JSON.parse(stderr), {
      error: {
        code: "http_503",
        message: "The outcome is unknown: The service failed (HTTP 503)",
        hint: "The request may have taken effect. Check before you retry.",
        requestId: null,
        retryable: false,
        exitCode: 1,
        next: [],
      },
    });
  });

  it("prints a response without the declared fields", async (t) => {
    const service = await startReceiver(t);
    service.respond(({ url }, response) =>
      response.end(url.includes("templates") ? '{"templates":[{"id":7}]}' : '{"results":[{"uid":7}]}'),
    );
    for (const [argv, printed] of [
      ["contracts templates list", 'templates\t[{"id":7}]\n'],
      ["contracts users list", "7\n"],
    ] as const) {
      const run = await runCli(`${argv} --base-url ${service.url}`, { env: key });
      assert.deepEqual([run.exit, run.stdout], [0, printed]);
    }
  });

  it("exits with 130 on Ctrl-C without a stack", async (t) => {
    const service = await startReceiver(t);
    let signal: (name: "SIGINT") => void = () => {};
    service.respond(() => signal("SIGINT"));
    const { exit, stdout, stderr } = await runCli(["router", "health", "--base-url", service.url], {
      onStart: (run) => {
        signal = run.signal;
      },
    });
    assert.deepEqual([exit, stdout, stderr], [130, "", ""]);
  });
});

describe("--verbose and --debug", () => {
  it("prints every exchange on standard error and hides every secret", async (t) => {
    const service = await startReceiver(t);
    service.respond((_, response) =>
      response
        .writeHead(200, { "set-cookie": "session=abc", "x-request-id": "r-1" })
        .end('{"contract_status":"SIGN","contract_name":"NDA","new":1}'),
    );
    const verbose = await runCli(["contracts", "status", "T-1", "--base-url", service.url, "--verbose"], { env: key });
    assert.match(
      verbose.stderr,
      /^GET http:\S+\/contracts\/T-1\/status 200 \d+ ms r-1\nThe response of contracts\.status differs from its declaration: new: not declared\n$/,
    );
    const debug = await runCli(
      ["intake", "create", "--title", "Top secret", "--workflow-id", "7", "--base-url", service.url, "--debug"],
      { env: key },
    );
    assert.match(debug.stderr, /> client-secret: \[hidden\]\n/);
    assert.match(debug.stderr, /> \{"title":"\[hidden\]","workflow_id":7\}\n/);
    assert.match(debug.stderr, /< set-cookie: \[hidden\]/);
    assert.equal(debug.stderr.includes("very-secret") || debug.stderr.includes("session=abc"), false);
  });
});

describe("output pipe of svc", () => {
  const svc = (...argv: string[]) =>
    spawn(process.execPath, [getSvcPath(), ...argv], { stdio: ["ignore", "pipe", "pipe"] });

  it("receives more than 64 KiB completely", async () => {
    const child = svc("openapi", "contracts");
    let text = "";
    for await (const chunk of child.stdout) text += chunk;
    assert.ok(text.length > 70_000, String(text.length));
    assert.equal(JSON.parse(text).openapi, "3.1.0");
  });

  it("ends the command silently with exit 0 when closed early", async () => {
    const child = svc("openapi", "contracts");
    let stderr = "";
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    child.stdout.once("data", () => child.stdout.destroy());
    const code = await new Promise((resolve) => child.once("close", resolve));
    assert.deepEqual([code, stderr], [0, ""]);
  });
});

it("names the version of Node.js that it requires in an older one", () => {
  const asOlder = "--import=data:text/javascript,delete process.getBuiltinModule";
  const { status, stderr } = spawnSync(process.execPath, [asOlder, getSvcPath(), "router", "health"]);
  const message = `error: svc requires Node.js 20.19 or later, and runs on ${process.version}.\n`;
  assert.deepEqual([status, String(stderr)], [1, message]);
});
