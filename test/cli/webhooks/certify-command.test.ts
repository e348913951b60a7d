import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { CertifyReport } from "../../../src/cli/commands/certify/receiver/report.ts";
import { startCertifyConsole } from "../../support/cli/certify-console.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { findFreePort } from "../../support/free-port.ts";
import { collectProcessWarnings } from "../../support/process-warnings.ts";

/** The file of a receiver that crashes at an unknown activity. */
const program = `
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
const key = Buffer.from(process.env.SVC_WEBHOOK_HMAC_KEY, "base64");
const handlers = { CONTRACT_SIGNED() {} };
const { EACH, DELAY = "0", RESPONDS, THROWS } = process.env;
let requests = 0;
createServer(async (request, response) => {
  const chunks = [];
  try { for await (const chunk of request) chunks.push(chunk); } catch { return; }
  const body = Buffer.concat(chunks);
  const expected = createHmac("sha512", key).update(body).digest("hex");
  if (THROWS) timingSafeEqual(Buffer.from(expected), Buffer.from(request.headers["x-svc-webhook-content-hash"]));
  if (request.headers["x-svc-webhook-content-hash"] !== expected) return response.writeHead(401).end();
  if (++requests % Number(EACH) === 0) {
    if (RESPONDS) response.end(() => process.exit(3));
    else process.exit(3);
    return;
  }
  if (EACH === undefined) handlers[JSON.parse(body).activity]();
  setTimeout(() => response.end(), Number(DELAY));
}).listen(process.env.PORT);
`;

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });

async function createReceiverFolder(t: TestContext) {
  const cwd = await createTestFolder(t);
  await writeFile(join(cwd, "receiver.mjs"), program);
  const port = await findFreePort();
  const svc = (command: string, ...argv: readonly string[]) =>
    runCli(["webhooks", "certify", "--to", String(port), "--command", command, ...argv], {
      cwd,
      env: { SVC_CONFIG_DIR: join(cwd, "config"), PATH: process.env.PATH },
    });
  return { cwd, port, svc };
}

const node = `'${process.execPath}'`;

describe("svc webhooks certify --command", () => {
  it("prints no leak warning while it waits for a receiver", async (t) => {
    const listWarnings = collectProcessWarnings(t);
    const { svc } = await createReceiverFolder(t);
    const { exit, stderr } = await svc("sleep 0.5; exit 4");
    assert.equal(exit, 1);
    assert.match(stderr, /^error: The receiver of --command ended with exit code 4 before it listened/);
    assert.deepEqual(await listWarnings(), []);
  });

  it("starts the receiver with its key, restarts it after a crash and ends it", async (t) => {
    const { port, svc } = await createReceiverFolder(t);
    const { exit, stdout } = await svc(`${node} receiver.mjs`, "--json");
    const { findings, language } = JSON.parse(stdout) as CertifyReport;
    assert.deepEqual(
      [exit, language, findings.map(({ mistake, checks }) => [mistake, checks])],
      [1, "node", [["unknown-activity", ["event.unknown-activity"]]]],
    );
    assert.equal(await isOpen(port), false);
  });

  for (const responds of ["", "RESPONDS=yes "]) {
    it(`reports only that the receiver ended${responds && " after its response"}`, async (t) => {
      const { svc } = await createReceiverFolder(t);
      const { exit, stdout } = await svc(`EACH=5 ${responds}exec ${node} receiver.mjs`, "--skip", "parallel", "--json");
      const { findings, checks } = JSON.parse(stdout) as CertifyReport;
      const endedChecks = checks.filter(({ receiver_end }) => receiver_end !== null);
      assert.deepEqual(
        [exit, findings.map(({ mistake, result, checks }) => [mistake, result, checks])],
        [1, [["receiver-ended", "failed", endedChecks.map(({ id }) => id)]]],
      );
      const result = ["failed", "exit code 3", "the receiver ended with exit code 3 during this check"];
      assert.ok(endedChecks.length >= 3);
      assert.deepEqual(
        endedChecks.map(({ result, receiver_end, detail }) => [result, receiver_end, detail]),
        endedChecks.map(() => result),
      );
    });
  }

  it("reports the only delivery that ends a slow receiver with concurrent requests", async (t) => {
    const { svc } = await createReceiverFolder(t);
    const { stdout } = await svc(
      `DELAY=200 exec ${node} receiver.mjs`,
      "--skip",
      "parallel",
      "--time-limit",
      "1m",
      "--json",
    );
    const { findings, checks } = JSON.parse(stdout) as CertifyReport;
    assert.deepEqual(
      findings.map(({ mistake, checks }) => [mistake, checks]),
      [["unknown-activity", ["event.unknown-activity"]]],
    );
    assert.deepEqual(
      checks.flatMap(({ id, receiver_end }) => (receiver_end === null ? [] : [[id, receiver_end]])),
      [["event.unknown-activity", "exit code 1"]],
    );
  });

  it("fails a receiver that ends when a signature is malformed", async (t) => {
    const { svc } = await createReceiverFolder(t);
    const { exit, stdout } = await svc(`THROWS=yes exec ${node} receiver.mjs`, "--only", "signature.empty", "--json");
    const { findings } = JSON.parse(stdout) as CertifyReport;
    assert.deepEqual(
      [exit, findings.map(({ mistake, result, checks }) => [mistake, result, checks])],
      [1, [["signature-crash", "failed", ["signature.empty"]]]],
    );
  });

  it("ends all processes that the shell has started", async (t) => {
    const { port, svc } = await createReceiverFolder(t);
    const { exit } = await svc(`${node} receiver.mjs & sleep 1000 & wait`, "--only", "genuine");
    assert.deepEqual([exit, await isOpen(port)], [0, false]);
  });

  it("prints the output of a receiver that does not start", async (t) => {
    const { svc } = await createReceiverFolder(t);
    const result = await svc("echo no database; exit 3");
    assert.deepEqual(
      [
        result.exit,
        result.stderr
          .split("\n")
          .slice(0, 2)
          .map((line) => line.replace(/\d{4,}/, "N")),
      ],
      [
        1,
        [
          "error: The receiver of --command ended with exit code 3 before it listened at http://localhost:N.",
          "  It printed: no database",
        ],
      ],
    );
    const thrown = await svc(`exec ${node} missing.mjs`);
    assert.match(thrown.stderr, /\n {2}It printed: .*Error: Cannot find module '\S+missing\.mjs'/);
    const silent = await svc("exec sleep 1000", "--ready-timeout", "100ms");
    assert.match(silent.stderr, /^error: The receiver of --command does not listen at \S+ after 0.1 s\./);
  });

  it("reports the wait and stores the generated key with the deliveries", async (t) => {
    const { cwd, svc } = await createReceiverFolder(t);
    const { exit, stderr } = await svc(
      `sleep 1.2; exec ${node} receiver.mjs`,
      ...["--only", "genuine", "--keep", "kept", "--ready-timeout", "20s"],
    );
    const [waiting] = stderr.split("\n");
    assert.deepEqual(
      [exit, waiting?.replace(/\d{4,}/, "N")],
      [0, "Waiting until the receiver listens at http://localhost:N, for at most 20 s"],
    );
    const savedFlags = "kept/genuine.json --headers kept/genuine.headers --key-file kept/emulator-hmac.key";
    const result = await runCli(["webhooks", "explain", ...savedFlags.split(" ")], { cwd, env: {} });
    assert.equal(result.exit, 0, result.stderr);
  });

  it("continues the emulator and the receiver until Ctrl-C with --console", async (t) => {
    const { cwd, port } = await createReceiverFolder(t);
    const argv = ["--to", String(port), "--command", `${node} receiver.mjs`, "--only", "genuine"];
    const { address, interrupt, completion } = await startCertifyConsole(argv, cwd);
    const { origin, hash } = new URL(address);
    const session = await fetch(`${origin}/_emulator/sessions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code: hash.slice("#code=".length) }),
    });
    assert.deepEqual([session.status, await isOpen(port)], [201, true]);
    interrupt();
    const { exit, stdout } = await completion;
    assert.deepEqual([exit, /passed/.test(stdout), await isOpen(port)], [0, true, false]);
  });

  it("starts no receiver if another program already listens", async (t) => {
    const { port, svc } = await createReceiverFolder(t);
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    t.after(() => server.close());
    const { exit, stderr } = await svc(`${node} receiver.mjs`);
    assert.deepEqual(
      [exit, stderr.split("\n")[0]],
      [1, `error: Another program already listens at http://localhost:${port}.`],
    );
  });
});
