import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { it } from "node:test";
import { startTestEmulator } from "../../support/emulator.ts";
import { exchangeBytes } from "./serving.ts";

it("every response of every listener disables content type sniffing", async (t) => {
  const { routerUrl, clusters } = await startTestEmulator(t);
  const get = (path: string, more = "") =>
    `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${more}\r\n`;
  const requests = {
    "a health check": get("/"),
    "what nothing is declared for": get("/nowhere"),
    "the control plane": get("/_emulator/ready"),
    "the control plane without a token": get("/_emulator/state"),
    "the contract API without a key": get("/api/v2.1/public/contracts/T-1"),
    "the storage without an object": get("/_storage/a/b"),
    "a foreign host": "GET / HTTP/1.1\r\nhost: elsewhere.example\r\nconnection: close\r\n\r\n",
    "no host": "GET / HTTP/1.1\r\nconnection: close\r\n\r\n",
    "what is not HTTP": "nonsense\r\n\r\n",
    "a head that is too long": get("/", `x-long: ${"x".repeat(40_000)}\r\n`),
    "an expectation that is not met": get("/", "expect: miracles\r\n"),
    "a body that is too large": `POST /api/v2.1/public/contracts/ HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n`,
  };
  for (const origin of [routerUrl, ...clusters.map(({ url }) => url)]) {
    for (const [label, request] of Object.entries(requests)) {
      const response = (await exchangeBytes(origin, [request])).toString("latin1");
      const sent = response.match(/^x-content-type-options: (.*)\r$/gim);
      assert.deepEqual(sent, ["x-content-type-options: nosniff\r"], `${label} at ${origin}: ${response}`);
    }
  }
});

it("the router does not change the response of an external cluster", async (t) => {
  const cluster = createServer((_request, response) => response.end("<p>mine</p>")).listen(0, "127.0.0.1");
  t.after(() => cluster.close());
  await new Promise((resolve) => cluster.once("listening", resolve));
  const external_url = `http://127.0.0.1:${(cluster.address() as AddressInfo).port}`;
  const { routerUrl } = await startTestEmulator(t, { seed: { clusters: [{ id: "eu-1", label: "eu", external_url }] } });
  const response = await fetch(`${routerUrl}/anything`);
  assert.deepEqual([await response.text(), response.headers.get("x-content-type-options")], ["<p>mine</p>", null]);
});
