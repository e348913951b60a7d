import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startTestEmulator } from "../../support/emulator.ts";
import { startRoutedEmulator } from "../../support/routed-emulator.ts";
import { exchangeBytes, parseResponse } from "../http/serving.ts";

/** Returns the head of a request with this first line, unchanged. */
const createRequestHead = (line: string, host: string): string =>
  `${line} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`;

const noTarget = { detail: "The request target must be a path or an http URL." };

describe("request target", () => {
  for (const [line, status, body] of [
    ["GET *", 400, noTarget],
    ["POST *", 400, noTarget],
    ["GET ftp://files.example/x", 400, noTarget],
    ["GET mailto:ada@example.com", 400, undefined],
    ["GET example.com:443", 400, undefined],
    ["OPTIONS *", 405, { detail: "Method Not Allowed" }],
    ["CONNECT example.com:443", 501, undefined],
    ["CONNECT /", 501, undefined],
    ["GET \\", 400, undefined],
    ["GET ", 400, undefined],
  ] as const) {
    it(`is rejected by the router with ${status}: ${line}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      const { host } = new URL(emulator.routerUrl);
      const response = parseResponse(await exchangeBytes(emulator.routerUrl, [createRequestHead(line, host)]));
      assert.equal(response.status, status);
      if (body) assert.deepEqual(JSON.parse(response.body), body);
      assert.deepEqual(emulator.listForwarded(), [], "no cluster is asked");
    });
  }

  for (const [line, forwardedPath] of [
    ["GET //x/y", "/"],
    ["GET /a\\b", "/a\\b"],
    ["GET /a//b", "/a//b"],
    ["GET /a#b", "/a#b"],
    ["GET /a/../../b", "/b"],
    ["GET /a/./b/%2E%2e/../c/.?d=../e", "/c/?d=../e"],
    ["GET /../router/v1/../x", "/router/x"],
    ["GET /a...b/..c", "/a...b/..c"],
  ] as const) {
    it(`is accepted and forwarded to a cluster: ${JSON.stringify(line)}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      const { host } = new URL(emulator.routerUrl);
      const response = parseResponse(
        await exchangeBytes(emulator.routerUrl, [Buffer.from(createRequestHead(line, host), "latin1")]),
      );
      assert.equal(response.status, 200);
      const expectedPath = forwardedPath === "/" && line.startsWith("GET //") ? "//x/y" : forwardedPath;
      assert.deepEqual(
        new Set(emulator.listForwarded()),
        new Set([`eu GET ${expectedPath}`, `us GET ${expectedPath}`]),
      );
    });
  }

  for (const path of ["/a/..%2f..%2fb", "/..%2F", "/%2f../b", "/a\\..\\b", "/a%5c..%5cb", "/..%5cb"]) {
    it(`is rejected if it is ambiguous: ${path}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      const { host } = new URL(emulator.routerUrl);
      const { status, body } = parseResponse(
        await exchangeBytes(emulator.routerUrl, [createRequestHead(`GET ${path}`, host)]),
      );
      assert.deepEqual(
        [status, JSON.parse(body)],
        [
          400,
          { detail: "The path has a dot segment next to an encoded slash or a backslash. Send the resolved path." },
        ],
      );
      assert.deepEqual(emulator.listForwarded(), []);
    });
  }

  for (const target of [
    "HTTPS://else.example/none?x=1",
    "http:///x",
    "http://ada@localhost/x",
    "http://else.example",
  ]) {
    it(`is rejected if it is an absolute URL of another host: ${target}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      const { host } = new URL(emulator.routerUrl);
      const { status, body } = parseResponse(
        await exchangeBytes(emulator.routerUrl, [createRequestHead(`GET ${target}`, host)]),
      );
      const foreignHost = target.split("/")[2];
      assert.deepEqual(
        [status, JSON.parse(body)],
        [
          403,
          {
            detail: `Host ${JSON.stringify(foreignHost)} is not allowed. If it is a name of this emulator, start it with --allowed-host.`,
          },
        ],
      );
      assert.deepEqual(emulator.listForwarded(), []);
    });
  }

  it("determines the forwarded host if it is absolute", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const response = parseResponse(
      await exchangeBytes(emulator.routerUrl, [createRequestHead("GET http://named.localhost:1/x", "localhost")]),
    );
    assert.equal(response.status, 200);
    assert.deepEqual(emulator.eu.received[0]?.headers["x-forwarded-host"], "named.localhost:1");
  });

  for (const host of ["localhost:99999", "localhost:65536"]) {
    it(`is rejected with the invalid host ${host}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      assert.equal(
        parseResponse(await exchangeBytes(emulator.routerUrl, [createRequestHead("GET /x", host)])).status,
        403,
      );
      assert.deepEqual(emulator.listForwarded(), []);
    });
  }

  it("is served as the root if it is absolute without a path", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const { host } = new URL(emulator.routerUrl);
    for (const line of [`GET http://${host}`, `GET http://${host}?x=1`, "GET /"]) {
      assert.equal(
        parseResponse(await exchangeBytes(emulator.routerUrl, [createRequestHead(line, host)])).status,
        200,
        line,
      );
    }
    assert.deepEqual(emulator.listForwarded(), []);
  });

  it("is accepted with invalid punycode in the host", async (t) => {
    const emulator = await startRoutedEmulator(t);
    assert.equal(
      parseResponse(await exchangeBytes(emulator.routerUrl, [createRequestHead("GET /x", "xn--a.localhost")])).status,
      200,
    );
  });
});

describe("invalid request target at a cluster", () => {
  it("is rejected in the same way, without an inbox entry", async (t) => {
    const emulator = await startTestEmulator(t);
    const { url, id } = emulator.clusters[0]!;
    const { host } = new URL(url);
    const lines = ["GET *", "GET ftp://files.example/x", "OPTIONS *", "CONNECT example.com:443"];
    const statuses: number[] = [];
    for (const line of lines)
      statuses.push(parseResponse(await exchangeBytes(url, [createRequestHead(line, host)])).status);
    assert.deepEqual(statuses, [400, 400, 405, 501]);
    const { body } = await emulator.control("GET", `clusters/${id}/inbox`);
    assert.equal((body as { total: number }).total, 0);
  });
});

describe("whole URL as request target", () => {
  it("is accepted by the signed storage", async (t) => {
    const { api } = await startTestEmulator(t);
    const files = [{ filename: "a b.txt", content_type: "text/plain" }];
    const upload = await api("POST", "/api/v2.1/public/workspace/files/uploads/", { body: { files } });
    const { upload_url } = (upload.body as { files: [{ upload_url: string }] }).files[0];
    const { origin, host } = new URL(upload_url);
    const head = `PUT ${upload_url} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n`;
    const fields = "content-type: text/plain\r\ncontent-length: 5\r\n\r\nhello";
    const { status, body } = parseResponse(await exchangeBytes(origin, [head + fields]));
    assert.deepEqual([status, body], [200, ""]);
  });
});
