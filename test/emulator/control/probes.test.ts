import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startTestEmulator } from "../../support/emulator.ts";
import { exchangeBytes, parseResponse } from "../http/serving.ts";

describe("health probe by a load balancer or monitor", () => {
  it("accepts HTTP/1.0 without a host, unlike other requests", async (t) => {
    const { routerUrl } = await startTestEmulator(t);
    const status = async (target: string) =>
      parseResponse(await exchangeBytes(routerUrl, [`GET ${target} HTTP/1.0\r\n\r\n`])).status;
    assert.deepEqual(
      await Promise.all(["/_emulator/ready", "/_emulator/live", "/_emulator/metrics", "/"].map(status)),
      [200, 200, 403, 403],
    );
    const foreignHost = "GET /_emulator/ready HTTP/1.0\r\nhost: evil.example\r\n\r\n";
    assert.equal(parseResponse(await exchangeBytes(routerUrl, [foreignHost])).status, 403);
  });

  it("accepts OPTIONS, like HAProxy's default, but not from other sites", async (t) => {
    const { routerUrl } = await startTestEmulator(t);
    const probe = async (lines: string) => {
      const { status, body } = parseResponse(await exchangeBytes(routerUrl, [`${lines}\r\n\r\n`]));
      return [status, body.startsWith('{"instance_id":')];
    };
    assert.deepEqual(await probe("OPTIONS /_emulator/ready HTTP/1.0"), [200, true]);
    assert.deepEqual(await probe("OPTIONS /_emulator/live HTTP/1.0"), [200, true]);
    const headers = "HTTP/1.1\r\nconnection: close\r\nhost: localhost";
    assert.deepEqual(await probe(`OPTIONS /_emulator/ready ${headers}`), [200, true]);
    assert.deepEqual(await probe(`OPTIONS /_emulator/requests ${headers}`), [401, false]);
    assert.deepEqual(await probe(`OPTIONS /_emulator/ready ${headers}\r\norigin: https://evil.example`), [403, false]);
    assert.deepEqual(await probe("OPTIONS / HTTP/1.0"), [403, false]);
  });

  it("accepts HEAD wherever GET is allowed", async (t) => {
    const { routerUrl, token } = await startTestEmulator(t);
    const head = async (path: string, headers: Record<string, string> = {}) => {
      const url = `${routerUrl}/_emulator/${path}`;
      const [full, bare] = await Promise.all(
        ["GET", "HEAD"].map((method) => fetch(url, { method, headers, redirect: "manual" })),
      );
      assert.deepEqual(
        [bare!.status, bare!.headers.get("content-type")],
        [full!.status, full!.headers.get("content-type")],
      );
      await full!.body?.cancel();
      return [bare!.status, await bare!.text()];
    };
    const authorization = `Bearer ${token}`;
    assert.deepEqual(await head("ready"), [200, ""]);
    assert.deepEqual(await head("device"), [200, ""]);
    assert.deepEqual(await head("requests"), [401, ""]);
    assert.deepEqual(await head("requests", { authorization }), [200, ""]);
    const stream = await fetch(`${routerUrl}/_emulator/events`, { method: "HEAD", headers: { authorization } });
    assert.equal(stream.status, 405);
  });
});
