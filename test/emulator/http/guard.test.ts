import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { defaultSettings } from "../../../emulator/domain/settings.ts";
import { createListener } from "../../../emulator/http/listener.ts";
import { RequestLog } from "../../../emulator/http/request-log/request-log.ts";
import { systemWallClock } from "../../../src/base/clock.ts";
import { createOperation, createSingleOperationPart, echo, emulator, html, router } from "./made-up.ts";
import { exchangeBytes, parseResponse, startTestServer } from "./serving.ts";

const open = () =>
  [
    createSingleOperationPart(createOperation(router, "GET", "/made"), () => "in"),
    createSingleOperationPart(
      createOperation(emulator, "GET", "/_emulator/page", {}, { responses: { 200: html() } }),
      () => "<p>page</p>",
    ),
    createSingleOperationPart(createOperation(emulator, "POST", "/_emulator/act", {}, { id: "act" }), echo),
  ] as const;

describe("Host header", () => {
  for (const host of ["localhost", "LOCALHOST:80", "app.localhost:4010", "127.0.0.1", "[::1]:4010", "twin.test:1"]) {
    it(`is accepted if it is ${host}`, async (t) => {
      const { send } = await startTestServer(t, open(), { allowedHosts: ["Twin.test"] });
      assert.equal((await send("GET", "/made", { headers: { host } })).status, 200);
    });
  }

  for (const host of [
    "",
    "evil.example",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.2",
    "[::1",
    "[::1]x",
    "localhost:99999999",
    "localhost:80:80",
    "user@localhost",
    "localhost/",
    ".localhost",
    `${"a".repeat(400)}.localhost`,
  ]) {
    it(`is rejected if it is ${JSON.stringify(host.slice(0, 40))}`, async (t) => {
      const { send, log } = await startTestServer(t, open());
      const response = await send("GET", "/made", { headers: { host } });
      assert.equal(response.status, 403);
      assert.match(response.body, /^\{"detail":"Host .* start it with --allowed-host\."\}$/);
      assert.deepEqual(
        log.list().map(({ status }) => status),
        [403],
      );
    });
  }

  it("is checked on every path and rejected if repeated", async (t) => {
    const { origin, send } = await startTestServer(t, open());
    const twice = "GET /made HTTP/1.1\r\nHost: localhost\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    const { status, body } = parseResponse(await exchangeBytes(origin, [twice]));
    assert.deepEqual([status, body.includes('Host \\"localhost, evil.example\\" is not allowed')], [403, true], body);
    assert.equal((await send("GET", "/nowhere", { headers: { host: "evil.example" } })).status, 403);
    assert.equal(parseResponse(await exchangeBytes(origin, ["GET /made HTTP/1.0\r\n\r\n"])).status, 403);
  });
});

describe("cross-site page", () => {
  for (const headers of [
    { origin: "https://evil.example" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
    { origin: "http://localhost:1" },
    { origin: "null", "sec-fetch-site": "same-origin" },
    { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
  ] as Record<string, string>[]) {
    it(`cannot use the control plane: ${JSON.stringify(headers)}`, async (t) => {
      const { send } = await startTestServer(t, open());
      for (const [method, path] of [
        ["POST", "/_emulator/act"],
        ["GET", "/_emulator/page"],
      ] as const) {
        assert.deepEqual(await send(method, path, { headers }), {
          status: 403,
          headers: { "content-type": "application/json" },
          body: JSON.stringify({
            error: { code: "forbidden", message: "Pages of other sites cannot use the control plane." },
          }),
        });
      }
    });
  }

  it("can link to an open page and use the services", async (t) => {
    const { send, origin } = await startTestServer(t, open());
    const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
    assert.equal((await send("GET", "/_emulator/page", { headers: link })).body, "<p>page</p>");
    assert.equal((await send("POST", "/_emulator/act", { headers: { origin } })).status, 200);
    const response = await send("GET", "/made", { headers: { origin: "https://app.example" } });
    // The response has no header that lets the other site's page read it.
    assert.deepEqual(response, { status: 200, headers: { "content-type": "application/json" }, body: '"in"' });
  });
});

describe("page loaded through a proxy", () => {
  const origin = "https://router.example";

  it("can submit forms from the public URL, whatever Host the proxy sends", async (t) => {
    const { send } = await startTestServer(t, open(), { publicUrl: `${origin}/twin` });
    assert.equal((await send("POST", "/_emulator/act", { headers: { origin } })).status, 200);
    const otherOrigin = { headers: { origin: "https://other.example" } };
    assert.equal((await send("POST", "/_emulator/act", otherOrigin)).status, 403);
  });

  it("counts as cross-site without a configured public URL", async (t) => {
    const { send } = await startTestServer(t, open());
    assert.equal((await send("POST", "/_emulator/act", { headers: { origin } })).status, 403);
  });
});

describe("listener during startup", () => {
  it("serves only its startup routes", async (t) => {
    const ready = createSingleOperationPart(
      createOperation(emulator, "GET", "/_emulator/ready", {}, { id: "emulator.ready" }),
      () => false,
    );
    const log = new RequestLog(defaultSettings.requestLogBytes);
    const shared = { name: "router", wall: systemWallClock, log, settings: defaultSettings, whileStarting: [ready] };
    const listener = createListener(shared);
    const origin = await listener.listen(0);
    t.after(() => listener.close());
    const targets = ["/_emulator/ready", "/made", "/nowhere"];
    const read = async (target: string) => {
      const response = await fetch(origin + target);
      return [response.headers.get("x-svc-unchanged"), await response.text()];
    };
    const starting = ["true", '{"detail":"The emulator is starting."}'];
    assert.deepEqual(await Promise.all(targets.map(read)), [[null, "false"], starting, starting]);

    listener.open({ parts: open(), clock: systemWallClock });
    assert.equal((await fetch(`${origin}/made`)).status, 200);
  });
});
