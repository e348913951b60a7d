import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { describe, it } from "node:test";
import { deflateSync, gzipSync } from "node:zlib";
import { diagnose } from "../../src/schemes/webhook-diagnosis.ts";
import { findScheme } from "../../src/schemes/webhook-schemes.ts";

// Invalid UTF-8 bytes, which a conversion to text changes.
const bytes = Buffer.from([...Array(62).keys(), 0xff, 0xfe]);
const key = bytes.toString("base64");
const hexKey = "deadbeefdeadbeef";
const sign = (signed: string, secret: Buffer | string = bytes, digest = "sha512"): string =>
  createHmac(digest, secret).update(signed).digest("hex");
const hash = (digest: string, ...parts: (Buffer | string)[]): string =>
  parts.reduce((sum, part) => sum.update(part), createHash(digest)).digest("hex");

const signature = sign("text");
const json = '{ "b":{"z":"é","y":[1,{"d":2,"c":"a/b"}]},"a":null}';

interface Mistake {
  readonly code: string;
  readonly signature: string;
  readonly body?: string;
  readonly key?: string;
}

const mistakes: Record<string, readonly Mistake[]> = {
  key: [
    { code: "key-not-decoded", signature: sign("text", key) },
    { code: "key-with-newline", signature: sign("text", `${key}\n`) },
    { code: "key-as-hex", signature: sign("text", bytes.toString("hex")) },
    { code: "key-as-text", signature: sign("text", bytes.toString("utf8")) },
    { code: "key-decoded-as-hex", signature: sign("text", Buffer.from(hexKey, "hex")), key: hexKey },
    {
      code: "key-not-standard-base64",
      signature,
      key: key.replaceAll("+", "-").replaceAll("/", "_").replace("==", ""),
    },
    { code: "key-empty", signature: sign("text", "") },
  ],
  body: [
    { code: "newline-trimmed", body: "text\r\n", signature },
    { code: "newline-added", signature: sign("text\n") },
    { code: "crlf-newline-added", signature: sign("text\r\n") },
    { code: "trimmed", body: " text ", signature },
    { code: "lf", body: "a\r\nb", signature: sign("a\nb") },
    { code: "crlf", body: "a\nb", signature: sign("a\r\nb") },
    { code: "byte-order-mark", body: "\ufefftext", signature },
    { code: "empty", signature: sign("") },
    { code: "json-compact", body: json, signature: sign('{"b":{"z":"é","y":[1,{"d":2,"c":"a/b"}]},"a":null}') },
    { code: "json-sorted", body: json, signature: sign('{"a":null,"b":{"y":[1,{"c":"a/b","d":2}],"z":"é"}}') },
    {
      code: "json-spaced",
      body: json,
      signature: sign('{"b": {"z": "é", "y": [1, {"d": 2, "c": "a/b"}]}, "a": null}'),
    },
    {
      code: "json-spaced-ascii",
      body: json,
      signature: sign('{"b": {"z": "\\u00e9", "y": [1, {"d": 2, "c": "a/b"}]}, "a": null}'),
    },
    {
      code: "json-spaced-sorted",
      body: json,
      signature: sign('{"a": null, "b": {"y": [1, {"c": "a/b", "d": 2}], "z": "\\u00e9"}}'),
    },
    { code: "json-ascii", body: json, signature: sign('{"b":{"z":"\\u00e9","y":[1,{"d":2,"c":"a/b"}]},"a":null}') },
    { code: "json-slashes", body: json, signature: sign('{"b":{"z":"\\u00e9","y":[1,{"d":2,"c":"a\\/b"}]},"a":null}') },
    { code: "json-indented", body: "[1]", signature: sign("[\n  1\n]") },
    { code: "json-indented", body: "[1]", signature: sign("[\n    1\n]") },
    { code: "json-twice", body: '["a"]', signature: sign('"[\\"a\\"]"') },
  ],
  algorithm: [
    { code: "hmac-sha256", signature: sign("text", bytes, "sha256") },
    { code: "hmac-sha384", signature: sign("text", bytes, "sha384") },
    { code: "hmac-sha1", signature: sign("text", bytes, "sha1") },
    { code: "plain-sha512", signature: hash("sha512", "text") },
    { code: "plain-sha256", signature: hash("sha256", "text") },
    { code: "key-before-body", signature: hash("sha512", bytes, "text") },
  ],
  encoding: [
    { code: "upper-case", signature: signature.toUpperCase() },
    { code: "base64-signature", signature: Buffer.from(signature, "hex").toString("base64") },
    { code: "base64-of-hex", signature: Buffer.from(signature).toString("base64") },
    ...[` ${signature}\n`, `"${signature}"`, `sha512=${signature}`, `HMAC-SHA512: ${signature}`, `v1,${signature}`].map(
      (dressed) => ({ code: "signature-dressed", signature: dressed }),
    ),
  ],
};

const diagnoseMistake = ({ body = "text", ...mistake }: Omit<Mistake, "code">) =>
  diagnose({ key, ...mistake, body: Buffer.from(body) });

describe("signature diagnosis", () => {
  for (const [about, alike] of Object.entries(mistakes)) {
    for (const { code, ...input } of alike) {
      it(`finds ${code} for ${JSON.stringify({ ...input, signature: input.signature.slice(0, 12) })}`, () => {
        const { explained, deviations } = diagnoseMistake(input);
        assert.deepEqual([explained, deviations.map((one) => [one.about, one.code])], [true, [[about, code]]]);
      });
    }
  }

  it("describes the mistake and its correction", () =>
    assert.deepEqual(diagnoseMistake({ signature: sign("text", key) }), {
      explained: true,
      deviations: [
        {
          about: "key",
          code: "key-not-decoded",
          text: "The key was used without decoding. Decode it as base64 first.",
        },
      ],
      // The correct algorithm with four bodies in four formats, then the second key with the first body.
      tried: 9,
    }));

  it("returns no mistake for a matching signature after one attempt", () =>
    assert.deepEqual(diagnoseMistake({ signature }), { explained: true, deviations: [], tried: 1 }));

  it("finds combined mistakes", () => {
    const { deviations } = diagnoseMistake({
      body: json,
      signature: sign('{"b":{"z":"é","y":[1,{"d":2,"c":"a/b"}]},"a":null}', key, "sha256").toUpperCase(),
    });
    const codes = deviations.map(({ code }) => code);
    assert.deepEqual(codes, ["key-not-decoded", "json-compact", "hmac-sha256", "upper-case"]);
  });

  const event = '{"activity":"CONTRACT_SIGNED","title":"Zoë"}';
  const utf16 = Buffer.from(event, "utf16le");
  const withMark = Buffer.from(`\ufeff${event}\r\n`, "utf16le");
  const base64 = Buffer.from(event).toString("base64");
  const wrapped: readonly (readonly [label: string, body: string | Buffer, codes: readonly string[]])[] = [
    ["base64", base64, ["base64-body"]],
    ["base64 in lines", `${base64.slice(0, 20)}\n${base64.slice(20)}\n`, ["base64-body"]],
    ["base64url", Buffer.from(event).toString("base64url"), ["base64-body"]],
    ["gzip", gzipSync(event), ["gzip"]],
    ["deflate", deflateSync(event), ["gzip"]],
    ["UTF-16", utf16, ["utf-16"]],
    ["big-endian UTF-16", Buffer.from(utf16).swap16(), ["utf-16"]],
    ["UTF-16 in PowerShell format", withMark, ["utf-16", "newline-trimmed"]],
    ["a JSON string", JSON.stringify(event), ["json-string"]],
    ["a field of an event", JSON.stringify({ path: "/hooks", body: event }), ["json-field"]],
    [
      "base64 in a field of an event",
      JSON.stringify({ body: base64, isBase64Encoded: true }),
      ["json-field", "base64-body"],
    ],
    ["base64 of gzip", gzipSync(event).toString("base64"), ["base64-body", "gzip"]],
  ];
  for (const [label, body, codes] of wrapped) {
    it(`recognizes a body in ${label}`, () => {
      const { explained, deviations } = diagnose({ key, body: Buffer.from(body), signature: sign(event) });
      assert.deepEqual([explained, deviations.map(({ code }) => code)], [true, codes]);
    });
  }

  for (const [code, signed] of [
    ["signed-as-base64", base64],
    ["signed-as-utf-16", utf16],
    ["signed-as-utf-16", Buffer.from(`\ufeff${event}`, "utf16le")],
    ["signed-as-utf-16", Buffer.from(`\ufeff${event}`, "utf16le").swap16()],
  ] as const) {
    it(`finds ${code} if an encoded body was signed instead of the raw bytes`, () => {
      const signature = createHmac("sha512", bytes).update(signed).digest("hex");
      const { deviations } = diagnose({ key, body: Buffer.from(event), signature: signature });
      assert.deepEqual(
        deviations.map((one) => one.code),
        [code],
      );
    });
  }

  it("aborts a gzip body that would fill the memory", () => {
    const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20));
    assert.equal(diagnose({ key, body: bomb, signature }).explained, false);
  });

  it("prefers a single mistake to two with the same result", () => {
    const { deviations } = diagnoseMistake({ body: "[1] ", signature: sign("[1]") });
    assert.deepEqual(
      deviations.map(({ code }) => code),
      ["trimmed"],
    );
  });

  it("finds a mistake in a body that nests too deeply to be serialized again", () => {
    const body = "[".repeat(50_000) + "]".repeat(50_000);
    const { deviations } = diagnoseMistake({ body: `${body}\n`, signature: sign(body) });
    assert.deepEqual(
      deviations.map(({ code }) => code),
      ["newline-trimmed"],
    );
  });

  for (const unexplained of ["", "?", "no signature at all", sign("other")]) {
    it(`finds no mistake for ${JSON.stringify(unexplained.slice(0, 20))} after trying all combinations`, () =>
      // Seven algorithms, six keys, and four bodies in four formats.
      assert.deepEqual(diagnoseMistake({ signature: unexplained }), {
        explained: false,
        deviations: [],
        tried: 7 * 6 * 8,
      }));
  }
});

describe("signature diagnosis of Standard Webhooks", () => {
  const headers = { "webhook-id": "msg_1", "webhook-timestamp": "1924992000" };
  const digest = (text: string) => createHmac("sha256", bytes).update(text).digest();
  const right = digest("msg_1.1924992000.text");
  const unpadded = right.toString("base64url");
  for (const [name, given, codes] of [
    ["a right signature", `v1,${right.toString("base64")}`, []],
    ["hexadecimal digits", `v1,${right.toString("hex")}`, ["hex-signature"]],
    ["hexadecimal digits without a prefix", right.toString("hex"), ["hex-signature"]],
    ["base64 without padding", `v1,${unpadded}`, ["base64-signature"]],
    ["base64 without a prefix", right.toString("base64"), ["signature-dressed"]],
    ["a signature of the body alone", `v1,${digest("text").toString("base64")}`, ["body-only"]],
  ] as const)
    it(`recognizes ${name}`, () => {
      const delivery = { key, body: Buffer.from("text"), signature: given, headers };
      const { explained, deviations } = diagnose(delivery, findScheme("standard"));
      assert.deepEqual([explained, deviations.map(({ code }) => code)], [true, codes]);
    });

  it("describes the encoding of the header", () => {
    const [deviation] = diagnose(
      { key, body: Buffer.from("text"), signature: `v1,${unpadded}`, headers },
      findScheme("standard"),
    ).deviations;
    const right = 'The header has "v1," and 44 base64 characters.';
    assert.equal(deviation!.text, `The signature is not padded standard base64. ${right}`);
  });
});
