import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";

/** The published check values of CRCs and digests for "123456789". */
const sums: Readonly<Record<string, string>> = {
  "content-md5": "25f9e794323b453885f5181f1b624d0b",
  "x-amz-checksum-crc32": "cbf43926",
  "x-amz-checksum-crc32c": "e3069283",
  "x-amz-checksum-crc64nvme": "ae8b14860a799888",
  "x-amz-checksum-sha1": "f7c3bc1d808e04732adf679965ccc34ca7ae3441",
  "x-amz-checksum-sha256": "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225",
};
const encodeBase64 = (hex: string): string => Buffer.from(hex, "hex").toString("base64");

async function initializeFile(api: TestEmulator["api"]): Promise<{ file_id: string; upload_url: string }> {
  const files = [{ filename: "digits.txt", content_type: "text/plain" }];
  const { body } = await api("POST", "/api/v2.1/public/workspace/files/uploads/", { body: { files } });
  return (body as { files: [{ file_id: string; upload_url: string }] }).files[0];
}

/** A file with the content "first", and the response and content after an upload. */
async function createUpload(t: TestContext) {
  const { api } = await startTestEmulator(t);
  const { file_id, upload_url } = await initializeFile(api);
  const send = (bytes: string, headers: Record<string, string>) =>
    fetch(upload_url, { method: "PUT", body: bytes, headers: { "content-type": "text/plain", ...headers } });
  await send("first", {});
  return async (bytes: string, headers: Record<string, string>) => {
    const response = await send(bytes, headers);
    const xml = /<Code>(.*)<\/Code><Message>(.*)<\/Message>/s.exec(await response.text());
    const file = await api("GET", `/api/v2.1/public/workspace/files/${file_id}/`);
    const stored = await (await fetch((file.body as { signed_url: string }).signed_url)).text();
    return { status: response.status, ...(xml && { code: xml[1], message: xml[2] }), stored };
  };
}

describe("upload with a header of the storage that is not signed", () => {
  for (const name of ["x-amz-acl", "x-amz-meta-author", "x-amz-checksum"]) {
    it(`rejects ${name}`, async (t) => {
      const upload = await createUpload(t);
      assert.deepEqual(await upload("second", { [name]: "private" }), {
        status: 403,
        code: "AccessDenied",
        message: "There were headers present in the request which were not signed",
        stored: "first",
      });
    });
  }

  it("accepts headers that describe the bytes, and those of a client library", async (t) => {
    const upload = await createUpload(t);
    const headers = { "x-amz-sdk-checksum-algorithm": "CRC32", "x-amz-user-agent": "client/1.0" };
    assert.deepEqual(await upload("second", headers), { status: 200, stored: "second" });
  });
});

describe("upload with a checksum", () => {
  for (const [name, hex] of Object.entries(sums)) {
    it(`accepts a matching ${name} and rejects a mismatch`, async (t) => {
      const upload = await createUpload(t);
      const wrong = await upload("12345678", { [name]: encodeBase64(hex) });
      const label = name.replace(/.*-checksum-/, "").toUpperCase();
      const message =
        name === "content-md5"
          ? "The Content-MD5 you specified did not match what we received."
          : `The ${label} you specified did not match the calculated checksum.`;
      assert.deepEqual(wrong, { status: 400, code: "BadDigest", message, stored: "first" });
      assert.deepEqual(await upload("123456789", { [name]: encodeBase64(hex) }), { status: 200, stored: "123456789" });
    });
  }

  it("validates the digest of a signed request", async (t) => {
    const upload = await createUpload(t);
    const headers = { "x-amz-content-sha256": sums["x-amz-checksum-sha256"]! };
    assert.deepEqual(await upload("12345678", headers), {
      status: 400,
      code: "XAmzContentSHA256Mismatch",
      message: "The provided 'x-amz-content-sha256' header does not match what was computed.",
      stored: "first",
    });
    assert.equal((await upload("123456789", headers)).status, 200);
    assert.equal((await upload("any", { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" })).status, 200);
  });

  const crc32 = encodeBase64(sums["x-amz-checksum-crc32"]!);
  const invalid: readonly (readonly [Record<string, string>, code: string, message: string])[] = [
    [{ "content-md5": "nonsense" }, "InvalidDigest", "The Content-MD5 you specified is not valid."],
    [{ "content-md5": crc32 }, "InvalidDigest", "The Content-MD5 you specified is not valid."],
    [{ "x-amz-checksum-sha1": crc32 }, "InvalidRequest", "Value for x-amz-checksum-sha1 header is invalid."],
    [
      { "x-amz-checksum-crc16": crc32 },
      "InvalidRequest",
      "The algorithm type you specified in x-amz-checksum- header is invalid.",
    ],
    [
      { "x-amz-checksum-crc32": crc32, "x-amz-checksum-crc32c": crc32 },
      "InvalidRequest",
      "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.",
    ],
  ];
  for (const [headers, code, message] of invalid) {
    it(`rejects ${JSON.stringify(headers)}`, async (t) => {
      const upload = await createUpload(t);
      assert.deepEqual(await upload("123456789", headers), { status: 400, code, message, stored: "first" });
    });
  }
});

describe("aws-chunked upload", () => {
  const unsigned = { "content-encoding": "aws-chunked", "x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER" };
  const trailer = { ...unsigned, "x-amz-trailer": "x-amz-checksum-crc32" };
  const crc32 = encodeBase64(sums["x-amz-checksum-crc32"]!);
  const chunked = (end = "") => `5\r\n12345\r\n4\r\n6789\r\n0\r\n${end}\r\n`;

  const accepted: readonly (readonly [label: string, body: string, headers: Record<string, string>])[] = [
    ["without a checksum", chunked(), unsigned],
    ["declared only by content-encoding", chunked(), { "content-encoding": "aws-chunked" }],
    ["with its length", chunked(), { ...unsigned, "x-amz-decoded-content-length": "9" }],
    ["with a checksum in a trailer", chunked(`x-amz-checksum-crc32:${crc32}\r\n`), trailer],
    ["with a checksum in a header and its trailer", chunked(), { ...trailer, "x-amz-checksum-crc32": crc32 }],
    [
      "with signed chunks",
      `9;chunk-signature=${"a".repeat(64)}\r\n123456789\r\n0;chunk-signature=${"b".repeat(64)}\r\n\r\n`,
      { "x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" },
    ],
  ];
  for (const [label, body, headers] of accepted) {
    it(`decodes an upload ${label}`, async (t) => {
      const upload = await createUpload(t);
      assert.deepEqual(await upload(body, headers), { status: 200, stored: "123456789" });
    });
  }

  it("rejects a mismatched trailer checksum", async (t) => {
    const upload = await createUpload(t);
    assert.deepEqual(await upload(`3\r\n123\r\n0\r\nx-amz-checksum-crc32:${crc32}\r\n\r\n`, trailer), {
      status: 400,
      code: "BadDigest",
      message: "The CRC32 you specified did not match the calculated checksum.",
      stored: "first",
    });
  });

  const unreadable = "The aws-chunked body cannot be read: ";
  const broken: readonly (readonly [body: string, headers: Record<string, string>, message: string])[] = [
    ["%PDF-1.7\r\n", unsigned, `${unreadable}"%PDF-1.7" is not the length of a chunk.`],
    ["9\r\n12345", unsigned, `${unreadable}the body ends within a chunk.`],
    ["4\r\n123456789\r\n0\r\n\r\n", unsigned, `${unreadable}a chunk is longer than its length.`],
    ["5\r\n12345\r\n", unsigned, `${unreadable}"" is not the length of a chunk.`],
    [chunked("no colon\r\n"), unsigned, `${unreadable}a trailer has no name.`],
    [`${"0".repeat(5_000)}9\r\n`, unsigned, `${unreadable}a line is too long.`],
    [chunked(), trailer, "The body ends without its trailer x-amz-checksum-crc32."],
    [
      chunked(),
      { ...unsigned, "x-amz-decoded-content-length": "10" },
      "x-amz-decoded-content-length is 10, but the body has 9 bytes.",
    ],
  ];
  for (const [body, headers, message] of broken) {
    it(`reports the error "${message}"`, async (t) => {
      const upload = await createUpload(t);
      assert.deepEqual(await upload(body, headers), { status: 400, code: "IncompleteBody", message, stored: "first" });
    });
  }

  it("leaves its connection to the next request if its first chunk is invalid", async (t) => {
    const { api } = await startTestEmulator(t);
    const { upload_url } = await initializeFile(api);
    const { host, port, pathname, search } = new URL(upload_url);
    const rest = "x".repeat(1 << 20);
    const socket = connect(Number(port), "127.0.0.1").setEncoding("utf8");
    socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: text/plain\r\n`);
    socket.write(`content-encoding: aws-chunked\r\ncontent-length: ${3 + rest.length}\r\n\r\n!\r\n`);
    let received = "";
    for await (const piece of socket) {
      if (received === "") socket.write(`${rest}GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
      received += piece;
    }
    assert.deepEqual(received.match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 400", "HTTP/1.1 200"]);
  });
});
