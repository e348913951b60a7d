import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it } from "node:test";
import type { Operation } from "../../../src/api/operation.ts";
import { registry } from "../../../src/api/registry.ts";
import { fillTemplate, findPlaceholders } from "../../../src/base/urls.ts";
import { formatBasicHeader } from "../../../src/schemes/http-authorization.ts";
import { startRoutedEmulator } from "../../support/routed-emulator.ts";

const operations: readonly Operation[] = registry;
const built = operations.filter(({ service }) => service.name === "router");
const findOperationsByBody = (...kinds: string[]) =>
  built.filter(({ request }) => kinds.includes(request.body?.kind ?? ""));

const garbage: Record<string, Uint8Array | string> = {
  "no bytes": "",
  "a broken object": '{"cluster_id": "eu-1", ',
  "a number": "1e999",
  "a list of lists": "[[[[]]]]",
  "100,000 levels": "[".repeat(100_000),
  "100,000 closed levels": `${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}`,
  // Larger than the request log's limit.
  "5 MB of spaces": " ".repeat(5_000_000),
  "5 MB of zero bytes": new Uint8Array(5_000_000),
  "bytes that are not UTF-8": Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
  "a member called __proto__": '{"__proto__": {"cluster_id": "eu-1", "email": "a@b.c"}}',
  "wrong types throughout":
    '{"cluster_id":[],"email_hash_list":{},"client_ids":1,"tokens":"x","email":null,"Metadata":7}',
  "a lone surrogate": '{"cluster_id":"\\ud800","email":1,"tokens":["\\udfff",1],"client_ids":"\\ud800"}',
  "a huge integer": `{"cluster_id":${"9".repeat(5_000)}}`,
};

describe("hostile body", () => {
  for (const [name, body] of Object.entries(garbage)) {
    it(`is rejected by every JSON operation without changes: ${name}`, async (t) => {
      const emulator = await startRoutedEmulator(t, { apps: { billing: { username: "u", password: "p" } } });
      const before = (await emulator.control("GET", "state")).body;
      for (const { id, method, path } of findOperationsByBody("json", "jsonOrForm")) {
        const target = fillTemplate(path, Object.fromEntries(findPlaceholders(path).map((name) => [name, "eu-1"])));
        const headers = {
          "content-type": "application/json",
          authorization: formatBasicHeader({ user: "u", password: "p" }),
        };
        const { status } = await emulator.router(String(method), target, { body, headers });
        // Offboarding declares no required field, and billing accepts any fields. Both ignore unknown fields.
        const harmless = id === "clusters.delete-workspace-data" && status === 200;
        assert.ok(harmless || (status >= 400 && status < 500), `${id} answered ${status}`);
      }
      assert.deepEqual((await emulator.control("GET", "state")).body, before);
      assert.deepEqual(emulator.listForwarded(), []);
    });

    it(`is forwarded unread by every forwarding operation: ${name}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      for (const { id, method, path } of findOperationsByBody("raw")) {
        const target = fillTemplate(path, Object.fromEntries(findPlaceholders(path).map((name) => [name, "default"])));
        const verb = [method].flat().find((one) => one !== "GET") ?? "GET";
        const { status } = await emulator.router(verb, target, {
          body,
          headers: { "content-type": "application/json" },
        });
        // An activity of chat_b without a token is never forwarded, whatever its body.
        assert.equal(status, id === "chat-b.messaging" ? 401 : 200, id);
      }
      const sent = Buffer.from(body);
      for (const request of [...emulator.eu.received, ...emulator.us.received])
        assert.ok(request.body.equals(sent), request.url);
    });
  }
});

/** Sends bytes over a socket and returns the status lines of the responses. */
async function sendBytes(url: string, bytes: string): Promise<string[]> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  // The socket stays open, because Node treats a half-closed socket as a disconnected client.
  socket.write(bytes, "latin1");
  let text = "";
  for await (const chunk of socket) text += chunk;
  return [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => status!);
}

describe("hostile request head", () => {
  const head = (url: string, ...lines: string[]) =>
    [`GET /x HTTP/1.1`, `Host: ${new URL(url).host}`, "Connection: close", ...lines, "", ""].join("\r\n");

  for (const line of [
    "X-A: 1\rX-B: 2",
    "X-A: 1\nX-B : 2",
    "X A: 1",
    "Content-Length: 1\r\nContent-Length: 2",
    "X-A: \0",
  ]) {
    it(`is rejected before any cluster receives ${JSON.stringify(line)}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      assert.deepEqual(await sendBytes(emulator.routerUrl, head(emulator.routerUrl, line)), ["400"]);
      assert.deepEqual(emulator.listForwarded(), []);
    });
  }

  it("cannot smuggle a second request past the router", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const inner = "GET /smuggled HTTP/1.1\r\n\r\n";
    const lines = ["Transfer-Encoding: chunked", `Content-Length: ${inner.length}`];
    await sendBytes(emulator.routerUrl, `${head(emulator.routerUrl, ...lines)}0\r\n\r\n${inner}`);
    assert.ok(!emulator.listForwarded().some((line) => line.includes("smuggled")));
  });

  for (const path of ["/%2e%2ea/%2f%00", "/a%0d%0aX-B:%201", "/%ff%fe"]) {
    it(`is forwarded unchanged with the path ${path}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      const request = head(emulator.routerUrl).replace("/x", path);
      assert.deepEqual(await sendBytes(emulator.routerUrl, request), ["200"]);
      assert.deepEqual(emulator.listForwarded(), [`eu GET ${path}`, `us GET ${path}`]);
    });
  }

  it("is forwarded by its path if the target is absolute", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const request = head(emulator.routerUrl).replace("/x", `${emulator.routerUrl}/x?y`);
    assert.deepEqual(await sendBytes(emulator.routerUrl, request), ["200"]);
    assert.deepEqual(emulator.listForwarded(), ["eu GET /x?y", "us GET /x?y"]);
  });
});
