import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { NetworkError } from "../../src/client/errors.ts";
import { readBodyText } from "../../src/client/response.ts";
import { createTransport } from "../../src/client/transport.ts";

/** The response of a service, as read by a client with this size limit. */
async function sendAndReceive(
  t: TestContext,
  served: { readonly encoding: string; readonly body: Uint8Array; readonly status?: number },
  maxResponseBytes?: number,
) {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(served.status ?? 200, { "content-encoding": served.encoding, "x-kept": "yes" }).end(served.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const transport = createTransport({ maxResponseBytes });
  t.after(async () => {
    await transport.close();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const response = await transport.send({ method: "GET", url, headers: {}, body: undefined }, { timeoutMs: 10_000 });
  return { text: await readBodyText(response.body), headers: response.headers };
}

const text = '{"id":"T-1"}';

describe("response with unrequested compression", () => {
  const codings: [encoding: string, body: Uint8Array][] = [
    ["gzip", gzipSync(text)],
    ["X-GZIP", gzipSync(text)],
    ["deflate", deflateSync(text)],
    ["br", brotliCompressSync(text)],
    ["gzip, br", brotliCompressSync(gzipSync(text))],
    ["identity", Buffer.from(text)],
    ["utf-8", Buffer.from(text)],
    // Five codings are not decoded: each needs a decoder, and a header can name thousands.
    ["gzip, gzip, gzip, gzip, gzip", Buffer.from(text)],
  ];
  for (const [encoding, body] of codings) {
    it(`decodes content-encoding ${encoding}`, async (t) => {
      assert.equal((await sendAndReceive(t, { encoding, body })).text, text);
    });
  }

  it("drops content-encoding and content-length after decoding", async (t) => {
    const { headers } = await sendAndReceive(t, { encoding: "gzip", body: gzipSync(text) });
    assert.deepEqual(
      ["content-encoding", "content-length", "x-kept"].map((name) => headers[name]),
      [undefined, undefined, "yes"],
    );
  });

  it("accepts an empty body", async (t) => {
    for (const status of [200, 204]) {
      assert.equal((await sendAndReceive(t, { encoding: "gzip", body: new Uint8Array(), status })).text, "");
    }
  });

  const damages: [label: string, encoding: string, body: Uint8Array, message: RegExp][] = [
    ["damaged", "gzip", Buffer.from(text), /: the compressed response is damaged \(Z_DATA_ERROR\)\.$/],
    [
      "cut short",
      "gzip",
      gzipSync(text.repeat(99)).subarray(0, 30),
      /: the compressed response was incomplete \(Z_BUF_ERROR\)/,
    ],
    ["damaged", "br", Buffer.from(text), /: the compressed response is damaged/],
    ["too large after decoding", "gzip", gzipSync("x".repeat(5_000_000)), /larger than 1 MiB/],
  ];
  for (const [label, encoding, body, message] of damages) {
    it(`reports a response that is ${label}, encoded as ${encoding}`, async (t) => {
      await assert.rejects(sendAndReceive(t, { encoding, body }, 2 ** 20), (error: Error) => {
        assert.ok(error instanceof NetworkError);
        assert.match(error.message, message);
        return true;
      });
    });
  }
});
