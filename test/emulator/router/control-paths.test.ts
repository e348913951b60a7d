import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startTestEmulator } from "../../support/emulator.ts";
import { startRoutedEmulator } from "../../support/routed-emulator.ts";
import { exchangeBytes, parseResponse } from "../http/serving.ts";

/** Sends one request with a token and an unchanged target over a separate connection. */
async function sendTo(url: string, target: string, token: string) {
  const { host } = new URL(url);
  const head = `POST ${target} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\nconnection: close\r\n\r\n`;
  const { status, body } = parseResponse(await exchangeBytes(url, [head]));
  return { status, body: JSON.parse(body) };
}

const spellings = [
  "//_emulator/clock/advance",
  "/_emulator",
  "/_EMULATOR/clock/advance",
  "/%255femulator/clock/advance",
  "/%2f_emulator/clock/advance",
  "/_emulator%00/clock/advance",
  "/_emulator;x=1/clock/advance",
  "/\\_emulator\\clock",
  "/x/../_EMULATOR/clock/advance",
];

describe("path similar to a control plane path", () => {
  for (const spelling of spellings) {
    it(`returns 404 from the router without forwarding the token: ${spelling}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      const { status, body } = await sendTo(emulator.routerUrl, spelling, emulator.token);
      assert.deepEqual(
        [status, body.error.code, body.error.message],
        [404, "not_found", "Path not found in the control plane."],
      );
      assert.deepEqual(emulator.listForwarded(), []);
    });

    it(`returns 404 from a cluster without an inbox entry: ${spelling}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { id, url } = emulator.clusters[0]!;
      assert.equal((await sendTo(url, spelling, emulator.token)).status, 404);
      assert.deepEqual((await emulator.control("GET", `clusters/${id}/inbox`)).body, { items: [], total: 0 });
    });
  }

  for (const [target, expected] of [
    ["/x/../_emulator/live", 200],
    ["/%5Femulator/live", 200],
    ["/_emulator%2flive", 200],
    ["/x%2f..%2f_emulator/live", 404],
    ["/x%5c..%5c_emulator/live", 404],
  ] as const) {
    it(`returns ${expected} if it resolves or could resolve to the control plane: ${target}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      const { host } = new URL(emulator.routerUrl);
      const head = `GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`;
      assert.equal(parseResponse(await exchangeBytes(emulator.routerUrl, [head])).status, expected);
      assert.deepEqual(emulator.listForwarded(), []);
    });
  }

  for (const path of ["/emulator/x", "/_emulators/x", "/x/_emulator/y", "/_emulator-x"]) {
    it(`is forwarded if it is a different path: ${path}`, async (t) => {
      const emulator = await startRoutedEmulator(t);
      await emulator.router("GET", path);
      assert.deepEqual(emulator.listForwarded(), [`eu GET ${path}`, `us GET ${path}`]);
    });
  }
});

describe("control plane token", () => {
  it("is removed from forwarded requests and reported as a finding", async (t) => {
    const emulator = await startRoutedEmulator(t);
    const { body } = await emulator.control("POST", "tokens/reader", { body: { role: "read" } });
    const { code } = (await emulator.control("POST", "sessions/codes")).body as { code: string };
    const session = (await emulator.router("POST", "/_emulator/sessions", { body: { code } })).body;
    for (const token of [emulator.token, (body as { token: string }).token, (session as { token: string }).token]) {
      const headers = { authorization: `Bearer ${token}` };
      await emulator.router("GET", "/x?cluster_id=eu-1", { headers });
      await emulator.router("GET", "/x", { headers });
    }
    const all = [...emulator.eu.received, ...emulator.us.received];
    assert.deepEqual(
      all.map(({ headers }) => headers.authorization),
      Array(9).fill(undefined),
    );
    const requests = (await emulator.control("GET", "requests?operation=catch-all")).body as {
      items: readonly { findings: readonly object[] }[];
    };
    const omitted = (location: string) => ({
      code: "credentials-omitted",
      detail: `authorization: not for ${location}`,
    });
    const droppedResponse = { code: "response-dropped", detail: "us-1 responded 200, not the first" };
    const several = { code: "asked-several", detail: "eu-1, us-1" };
    assert.deepEqual(
      requests.items.map(({ findings }) => findings),
      Array(3)
        .fill([[omitted("eu-1")], [several, omitted("several clusters"), droppedResponse]])
        .flat(),
    );
  });

  it("is hidden in inboxes at any position of a request", async (t) => {
    const emulator = await startTestEmulator(t);
    const { body } = await emulator.control("POST", "tokens/reader", { body: { role: "read" } });
    const { id, url } = emulator.clusters[0]!;
    const tokens = [emulator.token, (body as { token: string }).token];
    for (const token of tokens) {
      await fetch(`${url}/x?t=${token}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "x-own": `a ${token}`, "content-type": "text/plain" },
        body: `{"a":"${token}"}`,
      });
    }
    const { items } = (await emulator.control("GET", `clusters/${id}/inbox`)).body as {
      items: readonly { target: string; headers: readonly [string, string][]; body: string }[];
    };
    const received = items.map(({ target, headers, body: bytes }) => ({
      target,
      headers: headers.filter(([name]) => name === "authorization" || name === "x-own"),
      body: Buffer.from(bytes, "base64").toString(),
    }));
    const expectedRequest = {
      target: "/x?t=[redacted]",
      headers: [
        ["authorization", "Bearer [redacted]"],
        ["x-own", "a [redacted]"],
      ],
      body: '{"a":"[redacted]"}',
    };
    assert.deepEqual(received, [expectedRequest, expectedRequest]);
  });
});
