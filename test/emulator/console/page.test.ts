import assert from "node:assert/strict";
import { request } from "node:http";
import { describe, it } from "node:test";
import { brotliDecompressSync } from "node:zlib";
import { startTestEmulator } from "../../support/emulator.ts";

/** The headers that determine how browsers handle a page. */
const pickHeaders = (headers: Headers, ...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, headers.get(name)]));

describe("console page", () => {
  it("is served without credentials or state and loads only its own files", async (t) => {
    const { router } = await startTestEmulator(t);
    const { status, headers, body } = await router("GET", "/_emulator/ui/");
    assert.equal(status, 200);
    assert.deepEqual(
      pickHeaders(
        headers,
        "cache-control",
        "content-security-policy",
        "content-type",
        "cross-origin-opener-policy",
        "referrer-policy",
        "x-content-type-options",
        "x-frame-options",
      ),
      {
        "cache-control": "no-store",
        "content-security-policy":
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
        "content-type": "text/html; charset=utf-8",
        "cross-origin-opener-policy": "same-origin",
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
      },
    );
    const loaded = [...String(body).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url!);
    assert.deepEqual(
      loaded.map((url) => url.replace(/-\w+\./, "-HASH.")),
      ["assets/icon-HASH.svg", "assets/console-HASH.css", "assets/main-HASH.js"],
    );
  });

  it("names files by their contents, so that browsers cache them permanently", async (t) => {
    const { router } = await startTestEmulator(t);
    const page = String((await router("GET", "/_emulator/ui/")).body);
    const assets = await Promise.all(
      [...page.matchAll(/assets\/[\w.-]+/g)].map(([url]) => router("GET", `/_emulator/ui/${url}`)),
    );
    assert.deepEqual(
      assets.map(({ status, headers }) => [
        status,
        pickHeaders(headers, "cache-control", "content-type", "x-content-type-options"),
      ]),
      ["image/svg+xml", "text/css; charset=utf-8", "text/javascript; charset=utf-8"].map((type) => [
        200,
        {
          "cache-control": "public, max-age=31536000, immutable",
          "content-type": type,
          "x-content-type-options": "nosniff",
        },
      ]),
    );
  });

  it("sends brotli to clients that accept it, and uncompressed files to others", async (t) => {
    const { router, routerUrl } = await startTestEmulator(t);
    const page = String((await router("GET", "/_emulator/ui/")).body);
    const script = `${routerUrl}/_emulator/ui/${/assets\/main-\w+\.js/.exec(page)![0]}`;
    const plain = await downloadFile(script, {});
    for (const [accepted, isCompressed] of [
      ["gzip, deflate, br, zstd", true],
      ["br;q=0.5", true],
      ["gzip, br;q=0", false],
      ["identity", false],
    ] as const) {
      const { encoding, vary, bytes } = await downloadFile(script, { "accept-encoding": accepted });
      assert.deepEqual([encoding, vary], [isCompressed ? "br" : undefined, "accept-encoding"], accepted);
      assert.ok((isCompressed ? brotliDecompressSync(bytes) : bytes).equals(plain.bytes), accepted);
      if (isCompressed) assert.ok(bytes.length < plain.bytes.length / 2);
    }
  });

  it("serves no other file for any path", async (t) => {
    const { router, routerUrl } = await startTestEmulator(t);
    const notFound = {
      error: {
        code: "no_such_asset",
        message: "The console has no file manifest.json.",
        hint: "Reload the page. It may be from another version of svc.",
      },
    };
    const { status, body } = await router("GET", "/_emulator/ui/assets/manifest.json");
    assert.deepEqual([status, body], [404, notFound]);
    for (const name of ["..%2f..%2femulator.js", "%2e%2e/manifest.json", "constructor", "__proto__"]) {
      const found = await getStatus(`${routerUrl}/_emulator/ui/assets/${name}`);
      assert.equal(found, 404, name);
    }
  });

  it("rejects frames, other host names and scripts of other sites", async (t) => {
    const url = `${(await startTestEmulator(t)).routerUrl}/_emulator/ui/`;
    const navigation = { "sec-fetch-mode": "navigate", "sec-fetch-site": "cross-site" };
    const cases: readonly (readonly [string, Readonly<Record<string, string>>, number])[] = [
      ["a link on another site", { ...navigation, "sec-fetch-dest": "document" }, 200],
      ["a frame of another site", { ...navigation, "sec-fetch-dest": "iframe" }, 403],
      ["a script of another port", { "sec-fetch-mode": "cors", "sec-fetch-site": "same-site" }, 403],
      ["a page that hides where it is from", { origin: "null" }, 403],
      ["another host", { host: "evil.example" }, 403],
    ];
    for (const [label, headers, status] of cases) assert.equal(await getStatus(url, headers), status, label);
  });
});

/** Sends the path unchanged, without normalization. */
function getStatus(url: string, headers: Readonly<Record<string, string>> = {}): Promise<number> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const path = url.slice(url.indexOf("/", "http://".length));
    const clientRequest = request({ hostname, port, path, headers }, (response) =>
      resolve(response.resume().statusCode ?? 0),
    );
    clientRequest.on("error", reject).end();
  });
}

/** The raw bytes of a file, because fetch would decode them. */
const downloadFile = (url: string, headers: Record<string, string>) =>
  new Promise<{ encoding: string | undefined; vary: string | undefined; bytes: Buffer }>((resolve, reject) => {
    const clientRequest = request(url, { headers }, (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("end", () => {
        const { "content-encoding": encoding, vary } = response.headers;
        resolve({ encoding, vary, bytes: Buffer.concat(pieces) });
      });
    });
    clientRequest.on("error", reject).end();
  });
