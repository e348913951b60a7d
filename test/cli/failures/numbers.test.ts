import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startTlsService } from "../../support/cli/tls-service.ts";
import { startReceiver } from "../../support/receiver.ts";

describe("number out of range", () => {
  const cases: Readonly<Record<string, RegExp>> = {
    "emulator start --port 70000": /^error: --port must be a number from 0 to 65535, got "70000"/,
    "emulator start --port -1": /must be a number from 0 to 65535, got/,
    "emulator start --port 65535": /^error: Port 65536 of the cluster eu-1 is out of range\n/,
    "emulator exec --port 70000 -- true": /must be a number from 0 to 65535, got/,
    "emulator start --clock-speed 0":
      /^error: --clock-speed must be a number above 0, got "0"\n {2}For example, 60 runs an hour in a minute\. To stop the clock, use --clock manual\./,
    "webhooks listen --port 70000": /must be a number from 0 to 65535, got/,
    "webhooks listen --count 0": /must be at least 1, got/,
    "webhooks listen --forward-to 70000": /^error: --forward-to must be a port up to 65535/,
    "webhooks listen --forward-to localhost:70000": /^error: --forward-to must be a URL/,
    "webhooks replay --last 0": /must be at least 1, got/,
    "router map-emails x.csv --cluster eu-1 --batch-size 0": /must be at least 1, got/,
    "router map-emails x.csv --cluster eu-1 --concurrency 0": /must be at least 1, got/,
    "contracts list --retries -1 --emulator": /must be at least 0, got/,
    "contracts list --base-url http://localhost:70000": /^error: --base-url must be a URL/,
  };
  for (const [line, message] of Object.entries(cases)) {
    it(`is rejected with the valid range: svc ${line}`, async (t) => {
      const { exit, stderr } = await runCli(line, { cwd: await createTestFolder(t) });
      assert.equal(exit, 2, stderr);
      assert.match(stderr, message);
    });
  }
});

describe("folder instead of a file", () => {
  for (const line of [
    "emulator start --file .",
    "emulator exec --file . -- true",
    "emulator start --ready-file .",
    "emulator start --seed .",
    "emulator status --file .",
    "emulator clock --file .",
    "emulator repair .",
    "webhooks trigger CONTRACT_SIGNED --file .",
    "contracts create --data . --emulator",
    "webhooks sign . --key-file .",
    "router map-emails . --cluster eu-1 --emulator",
  ]) {
    it(`is reported as a folder: svc ${line}`, async (t) => {
      const { exit, stderr } = await runCli(line, { cwd: await createTestFolder(t) });
      assert.match(stderr, /^error: .*\bis a folder\b/, `${exit}`);
      assert.ok(exit === 1 || exit === 2, `${exit}`);
    });
  }
});

/** A port that does not speak HTTP. It sends `words` to every client. */
async function startStrangeServer(t: TestContext, responseText: string | undefined): Promise<string> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    if (responseText === undefined) socket.destroy();
    else socket.end(responseText);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

describe("port of another protocol", () => {
  const speakers: Readonly<Record<string, string | undefined>> = {
    SSH: "SSH-2.0-OpenSSH_9.6\r\n",
    SMTP: "220 mail.example ESMTP\r\n",
    "a page without a version": "<html></html>",
    zeros: "\0\0\0\0\0\0\0\0",
    nothing: undefined,
    "HTTP without an end": "HTTP/1.1 200 OK\r\ncontent-le",
    "a response with two lengths": "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
    "a status below 100": "HTTP/1.1 099 OK\r\ncontent-length: 2\r\n\r\n{}",
  };
  for (const [name, words] of Object.entries(speakers)) {
    it(`is reported: ${name}`, async (t) => {
      const url = await startStrangeServer(t, words);
      const { exit, stderr } = await runCli(["router", "clusters", "--base-url", url, "--retries", "0"]);
      assert.equal(exit, 75, stderr);
      assert.match(
        stderr,
        words === undefined || name.endsWith("end")
          ? /^error: Request to \S+ failed: /
          : /the server does not speak HTTP|the response was incomplete or not valid HTTP/,
      );
      assert.equal(stderr.includes("Unexpected"), false, stderr);
    });
  }
});

it("svc reports an address without a route", async () => {
  const { exit, stderr } = await runCli(["router", "clusters", "--base-url", "http://224.0.0.1", "--retries", "0"]);
  const hint = "  Check the address, and that the service is running.\n";
  assert.deepEqual(
    [exit, stderr],
    [75, `error: Failed to reach http://224.0.0.1: the host cannot be reached (ENETUNREACH).\n${hint}`],
  );
});

it("svc explains a TLS mismatch for https without TLS and http with TLS", async (t) => {
  const plain = await startStrangeServer(t, "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
  const url = plain.replace("http:", "https:");
  const { exit, stderr } = await runCli(["router", "clusters", "--base-url", url, "--retries", "0"]);
  assert.equal(exit, 75, stderr);
  assert.match(stderr, /the server does not speak TLS; its URL may begin with http:\/\//);
  const safe = (await startTlsService(t)).replace("https://service.example", "http://127.0.0.1");
  const otherResult = await runCli(["router", "clusters", "--base-url", safe, "--retries", "0"]);
  assert.equal(otherResult.exit, 75, otherResult.stderr);
  assert.match(otherResult.stderr, /^error: Request to \S+ failed: .*\n {2}Check the address \(https:\/\/ for TLS\)/);
  const cwd = await createTestFolder(t);
  await writeFile(join(cwd, "saved.json"), "{}");
  await writeFile(join(cwd, "saved.headers"), "x-svc-webhook-content-hash: 00\n");
  const receiver = await runCli(["webhooks", "replay", "saved.json", "--to", safe], { cwd });
  assert.match(receiver.stdout + receiver.stderr, /If the receiver uses TLS, use https:\/\/\./);
  const to = safe.replace("http:", "https:");
  const untrusted = await runCli(["webhooks", "replay", "saved.json", "--to", to], { cwd });
  const cause = `Failed to reach ${to}: its certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT).`;
  assert.ok(untrusted.stdout.includes(`${cause} Set NODE_EXTRA_CA_CERTS to the file of`), untrusted.stdout);
});

it("svc names --timeout when a receiver does not respond in time", async (t) => {
  const [cwd, app] = [await createTestFolder(t), await startReceiver(t)];
  app.respond(() => {});
  await writeFile(join(cwd, "saved.json"), "{}");
  await writeFile(join(cwd, "saved.headers"), "x-svc-webhook-content-hash: 00\n");
  const argv = ["webhooks", "replay", "saved.json", "--to", app.url, "--timeout", "100ms"];
  const { exit, stdout } = await runCli(argv, { cwd });
  const cause = `Request to ${app.url} failed: no response within 100 ms (ETIMEDOUT).`;
  const hint = "Try again later, or allow a longer time with --timeout.";
  assert.deepEqual([exit, stdout], [1, `--> saved.json ${app.url}\n<-- ${cause} ${hint}\n`]);
});
