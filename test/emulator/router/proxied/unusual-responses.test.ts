import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startTestEmulator } from "../../../support/emulator.ts";
import { startRawServer } from "../../../support/raw-server.ts";
import { exchangeBytes, parseResponse } from "../../http/serving.ts";

const long = "x".repeat(40_000);
const crlf = "\r\n";
const formatHead = (...lines: readonly string[]) => lines.map((line) => line + crlf).join("") + crlf;

type Got = readonly [status: number, headers: object, body: string];

/** The cluster's response in chunks, and the client's response with its status, some headers and its body. */
const oddResponses: Readonly<Record<string, readonly [pieces: readonly string[], ...got: Got]>> = {
  "a 304 with the length of the omitted body": [
    [formatHead("HTTP/1.1 304 Not Modified", "ETag: a", "Content-Length: 1234")],
    304,
    { etag: "a" },
    "",
  ],
  "a 204 with a length but no body": [[formatHead("HTTP/1.1 204 No Content", "Content-Length: 5")], 204, {}, ""],
  "a 204 with a length and a body": [
    [`${formatHead("HTTP/1.1 204 No Content", "Content-Length: 5")}hello`],
    204,
    {},
    "",
  ],
  "a 204 with the type of the omitted body": [
    [formatHead("HTTP/1.1 204 No Content", "Content-Type: application/json")],
    204,
    { "content-type": "application/json" },
    "",
  ],
  "a response that announces a trailer": [
    [`${formatHead("HTTP/1.1 200 OK", "Trailer: X-Sum", "Content-Length: 2")}ok`],
    200,
    {},
    "ok",
  ],
  "a response with a trailer": [
    [formatHead("HTTP/1.1 200 OK", "Trailer: X-Sum", "Transfer-Encoding: chunked"), "2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"],
    200,
    {},
    "ok",
  ],
  "a head of 40,000 bytes": [
    [`${formatHead("HTTP/1.1 200 OK", `X-A: ${long}`, "Content-Length: 2")}ok`],
    200,
    { "x-a": long },
    "ok",
  ],
  "an unsolicited 100": [
    [formatHead("HTTP/1.1 100 Continue"), `${formatHead("HTTP/1.1 200 OK", "Content-Length: 2")}ok`],
    200,
    {},
    "ok",
  ],
  "two unsolicited 100s in one chunk with the response": [
    [
      `${formatHead("HTTP/1.1 100 Continue", "X-A: b").repeat(2) + formatHead("HTTP/1.1 200 OK", "Content-Length: 2")}ok`,
    ],
    200,
    {},
    "ok",
  ],
  "an unsolicited 100 sent byte by byte": [
    [...`${formatHead("HTTP/1.1 100 Continue") + formatHead("HTTP/1.1 404 Not Found", "Content-Length: 2")}no`],
    404,
    {},
    "no",
  ],
  "a status above 599": [[`${formatHead("HTTP/1.1 999 Denied", "Content-Length: 2")}no`], 999, {}, "no"],
  "early hints": [
    [formatHead("HTTP/1.1 103 Early Hints", "Link: </a>"), `${formatHead("HTTP/1.1 200 OK", "Content-Length: 2")}ok`],
    200,
    {},
    "ok",
  ],
};

describe("forwarding of unusual cluster responses", () => {
  for (const [name, [pieces, status, headers, body]] of Object.entries(oddResponses)) {
    it(`forwards ${name}`, async (t) => {
      const cluster = await startRawServer(t, ...pieces);
      const seed = { clusters: [{ id: "eu-1", label: "eu", external_url: cluster.url }] };
      const emulator = await startTestEmulator(t, { seed });
      const { host } = new URL(emulator.routerUrl);
      // The second request checks that the connection to the cluster is reusable or replaced.
      for (const path of ["/a", "/b"]) {
        const received = await exchangeBytes(emulator.routerUrl, [
          `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
        ]);
        const response = parseResponse(received);
        const emulatorHeaders = ["x-svc-matched", "content-security-policy"];
        const otherHeaders = Object.entries(response.headers).filter(([header]) => !emulatorHeaders.includes(header));
        assert.deepEqual([response.status, Object.fromEntries(otherHeaders), response.body], [status, headers, body]);
        if (status === 204) assert.doesNotMatch(received.toString("latin1"), /content-length/i);
      }
      assert.equal(cluster.received.length, 2);
    });
  }
});
