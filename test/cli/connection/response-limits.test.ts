import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { createConnection } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { startMisbehavingServer } from "../../support/cli/misbehaving-server.ts";
import { type RunOptions, runCli } from "../../support/cli/run-cli.ts";
import { startCommand } from "../../support/cli/running-command.ts";

const mebi = 2 ** 20;
/** The capacity of the buffers on both sides of a connection, which counts as sent. */
const between = 64 * mebi;
const startEndlessServer = (t: TestContext, head = "HTTP/1.1 200 OK\r\n\r\n", piece = "x") =>
  startMisbehavingServer(t, (play) => {
    play.write(head);
    play.flood(piece);
  });

const credentials = { SVC_CLIENT_ID: "id", SVC_CLIENT_SECRET: "secret", SVC_TOKEN: "token" };
const quick = ["--retries", "0", "--timeout", "20s", "--max-response", "1MiB"];

describe("endless response", () => {
  const hint = "To allow a larger response, use --max-response.";
  for (const [line, env, doubt = ""] of [
    ["router health", {}],
    ["contracts list", {}],
    ["contracts download T-1 --output out.pdf", {}, "The request may have taken effect. "],
    ["api GET /anything", {}],
    ["emulator status", { SVC_EMULATOR_TOKEN: "token" }],
    ["auth device-login --client-id app --no-browser", { SVC_TOKEN: undefined }, "The request may have taken effect. "],
  ] as readonly [string, RunOptions["env"], string?][]) {
    it(`ends svc ${line} at the limit and names the flag that changes the limit`, async (t) => {
      const [server, cwd] = [await startEndlessServer(t), await createTestFolder(t)];
      const { exit, stderr } = await runCli([...line.split(" "), "--base-url", server.url, ...quick], {
        cwd,
        env: { ...credentials, ...env, SVC_EMULATOR_URL: server.url, SVC_CONFIG_DIR: await createTestFolder(t) },
      });
      assert.deepEqual(
        [exit, stderr],
        [1, `error: Failed to read from ${server.url}: the response is larger than 1 MiB.\n  ${doubt}${hint}\n`],
      );
      assert.deepEqual(await readdir(cwd), []);
      assert.ok(server.countAcceptedBytes() < mebi + between, `${server.countAcceptedBytes()}`);
    });
  }

  it("ends doctor, which reports the response as a finding", async (t) => {
    const server = await startEndlessServer(t);
    const { exit, stdout } = await runCli(["doctor", "--json", "--base-url", server.url, ...quick]);
    const rows = JSON.parse(stdout) as { check: string; detail: string }[];
    assert.deepEqual(
      [exit, rows.find(({ check }) => check === "router")!.detail],
      [1, `Failed to read from ${server.url}: the response is larger than 1 MiB.`],
    );
  });

  it("ends with a message for a rejection and for endless headers", async (t) => {
    for (const [head, piece, message] of [
      ["HTTP/1.1 403 No\r\n\r\n", "x", "the response is larger than 1 MiB"],
      ["", "HTTP/1.1 103 Early\r\n\r\n", "it sent more than 100 interim responses"],
      ["HTTP/1.1 200 OK\r\nx: ", "x", "its headers are larger than 16 KiB"],
    ]) {
      const server = await startEndlessServer(t, head, piece);
      const { exit, stderr } = await runCli(["router", "health", "--base-url", server.url, ...quick]);
      assert.deepEqual([exit, stderr.split("\n")[0]], [1, `error: Failed to read from ${server.url}: ${message}.`]);
    }
  });

  it("counts as the response of the forwarding target, by its status", async (t) => {
    const { svc, emulator } = await startCliEmulator(t);
    const app = await startEndlessServer(t);
    const listening = startCommand(svc, [
      "webhooks",
      "listen",
      "--no-register",
      "--forward-to",
      app.url,
      "--count",
      "1",
      "--json",
      ...quick,
    ]);
    await listening.saw('"ready"');
    const ready = listening.events().find(({ type }) => type === "ready") as unknown as { url: string };
    const response = await fetch(ready.url, { method: "POST", body: "{}" });
    assert.deepEqual([response.status, await response.text()], [200, ""]);
    assert.equal((await listening.completion).exit, 0);
    assert.ok(emulator.routerUrl && app.countAcceptedBytes() < mebi + between);
  });
});

describe("--max-response", () => {
  it("accepts only sizes", async () => {
    for (const size of ["0", "-1", "1XB", "lots", "1e9", ""]) {
      const { exit, stderr } = await runCli([
        "router",
        "health",
        "--base-url",
        "http://127.0.0.1:1",
        `--max-response=${size}`,
      ]);
      assert.deepEqual([exit, stderr.includes("--max-response")], [2, true], `${size}: ${stderr}`);
    }
    for (const size of ["1", "500MB", "2 GiB", "1.5g", "64k"]) {
      const { exit } = await runCli([
        "router",
        "health",
        "--base-url",
        "http://127.0.0.1:1",
        "--retries=0",
        `--max-response=${size}`,
      ]);
      assert.equal(exit, 75, size);
    }
  });
});

describe("svc webhooks listen", () => {
  it("responds with 413 to an endless request, reports the request and continues", async (t) => {
    const { svc } = await startCliEmulator(t);
    const listening = startCommand(svc, ["webhooks", "listen", "--no-register", "--count", "1", "--json"]);
    await listening.saw('"ready"');
    const { url } = listening.events().find(({ type }) => type === "ready") as unknown as { url: string };
    const socket = createConnection(Number(new URL(url).port), "127.0.0.1");
    let sent = 0;
    let received = "";
    socket.on("data", (text) => {
      received += text;
      if (received.includes("too large for a webhook")) socket.destroy();
    });
    const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
    socket.on("error", () => {});
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
    const piece = `10000\r\n${"x".repeat(65_536)}\r\n`;
    const on = () => {
      do sent += piece.length;
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on("drain", on);
    on();
    await closed;
    assert.match(received, /^HTTP\/1\.1 413 .*too large for a webhook/s);
    assert.ok(sent < 8 * mebi + between, `${sent}`);
    await fetch(url, { method: "POST", body: "{}" });
    const { exit, stderr } = await listening.completion;
    assert.equal(exit, 0);
    assert.match(stderr, /Rejected a request larger than 8 MiB/);
  });
});
