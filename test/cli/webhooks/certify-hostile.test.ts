import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { CertifyReport } from "../../../src/cli/commands/certify/receiver/report.ts";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { hmacKey, impatientWall, runCertify } from "../../support/cli/signed-receiver.ts";

const ok = "HTTP/1.1 200 OK\r\n";

/** Writes until the other side closes the connection. */
function floodSocket(socket: Socket, piece: string): void {
  const write = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on("drain", write);
  write();
}

/** The behavior of a receiver after the head of a delivery, and the reported detail. */
const plays: Readonly<Record<string, readonly [play: (socket: Socket) => void, detail: RegExp]>> = Object.freeze({
  "never responds": [() => {}, /^no response after 5 s$/],
  "responds without end": [
    (socket) => {
      socket.write(`${ok}\r\n`);
      floodSocket(socket, "x".repeat(10_000));
    },
    /^status 200, but the response is larger than 1 MiB$/,
  ],
  "never ends its response": [
    (socket) => socket.write(`${ok}Content-Length: 10\r\n\r\nx`),
    /^status 200, but the response is not complete after 5 s$/,
  ],
  "cuts its response off": [
    (socket) => socket.end(`${ok}Content-Length: 10\r\n\r\nx`),
    /^status 200, but the connection closed during the response$/,
  ],
  "resets the connection": [(socket) => socket.resetAndDestroy(), /^the connection closed without a response$/],
  "sends 1xx without end": [
    (socket) => floodSocket(socket, "HTTP/1.1 102 Processing\r\n\r\n".repeat(100)),
    /^the receiver sends only 1xx responses$/,
  ],
  redirects: [
    (socket) => socket.end("HTTP/1.1 307 Temporary Redirect\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"),
    /^status 307$/,
  ],
  "sends 10 MB of headers": [
    (socket) => socket.end(`${ok}${`X-Filler: ${"x".repeat(1_000)}\r\n`.repeat(10_000)}\r\n`),
    /^the headers of the response are too large$/,
  ],
  "speaks no HTTP": [(socket) => socket.end("+PONG\r\n"), /^the response is not valid HTTP/],
  "changes the protocol": [
    (socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
    /^the receiver switched protocols \(HTTP 101\)$/,
  ],
});

const otherMistakes: Readonly<Record<string, readonly string[]>> = {
  redirects: ["redirect"],
  // Forged deliveries receive the status 200, too.
  "cuts its response off": ["signature-unchecked", "broken-response"],
  "responds without end": ["signature-unchecked", "broken-response"],
  "never ends its response": ["signature-unchecked", "broken-response"],
};

async function startHostileReceiver(t: TestContext, play: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    socket.once("data", () => play(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`;
}

describe("svc webhooks certify with a hostile receiver", () => {
  for (const [name, [play, detail]] of Object.entries(plays)) {
    it(`ends for a receiver that ${name}`, async (t) => {
      const url = await startHostileReceiver(t, play);
      const cwd = await createTestFolder(t);
      await writeFile(join(cwd, "hmac.key"), hmacKey);
      const { exit, stdout } = await runCertify(cwd, url, ["--json"], { wall: impatientWall });
      const { findings, checks } = JSON.parse(stdout) as CertifyReport;
      const mistakes = otherMistakes[name] ?? ["broken-response"];
      assert.deepEqual([exit, findings.map((finding) => finding.mistake)], [1, mistakes]);
      assert.match(checks[0]!.detail, detail);
    });
  }
});
