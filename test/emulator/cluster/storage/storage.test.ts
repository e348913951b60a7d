import assert from "node:assert/strict";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import { PdfReader } from "../../../../emulator/cluster/pdf/reader.ts";
import {
  type StoredObject,
  signObjectUrl,
  storageHandlers,
  storageKeys,
  storedObjects,
} from "../../../../emulator/cluster/storage/storage.ts";
import { getStandardSet } from "../../../../emulator/compose/state/seed.ts";
import { defaultSettings } from "../../../../emulator/domain/settings.ts";
import { parseRequestTarget } from "../../../../emulator/http/routing/path.ts";
import { type Blobs, BlobTooLargeError } from "../../../../emulator/store/blobs.ts";
import { createMemoryBlobs, openMemoryStore } from "../../../../emulator/store/memory-store.ts";
import { StoreFailedError } from "../../../../emulator/store/port.ts";
import { DeclaredFailureError, fail } from "../../../../src/api/failures.ts";
import { systemWallClock } from "../../../../src/base/clock.ts";
import { createRandomIds } from "../../../../src/base/ids.ts";
import { startTestEmulator, type TestEmulator } from "../../../support/emulator.ts";
import { createTemporaryFolder } from "../../../support/store.ts";

interface Upload {
  file_id: string;
  expires_at: string;
  upload_url: string;
}

async function initializeUpload({ api }: Pick<TestEmulator, "api">, content_type = "application/pdf"): Promise<Upload> {
  const response = await api("POST", "/api/v2.1/public/workspace/files/uploads/", {
    body: { files: [{ filename: "msa.pdf", content_type }] },
  });
  return (response.body as { files: Upload[] }).files[0]!;
}

async function downloadUrl({ api }: Pick<TestEmulator, "api">, id: string): Promise<string> {
  return ((await api("GET", `/api/v2.1/public/workspace/files/${id}/`)).body as { signed_url: string }).signed_url;
}

const putObject = (
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = { "content-type": "application/pdf" },
) => fetch(url, { method: "PUT", body, headers });

async function listUploadFindings({ control }: TestEmulator) {
  const { items } = (await control("GET", "requests?operation=storage.put")).body as { items: { findings: unknown }[] };
  return items.map(({ findings }) => findings);
}

/** Status, content type and XML without the two generated IDs. */
async function readStorageError(response: Response) {
  const text = await response.text();
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    xml: text.replace(/<RequestId>[0-9A-Z]{16}<\/RequestId><HostId>eu-1<\/HostId>/, "…"),
  };
}

/** A signed PUT directly to the handler, for errors such as 5 GiB or a full disk. */
async function createSignedPut(putBlob: Blobs["put"]) {
  const url = "http://127.0.0.1:4011";
  const context = {
    store: openMemoryStore({ collections: [storedObjects, storageKeys], wall: systemWallClock }),
    clock: { now: () => 1_000 },
    wall: systemWallClock,
    ids: createRandomIds(),
    settings: defaultSettings,
    cluster: { id: "eu-1", label: "eu", key: "k", destinations: [], url, internalUrl: url, external: false },
    blobs: { ...createMemoryBlobs(), put: putBlob },
    pdfs: new PdfReader(systemWallClock),
    getStandardSet,
  };
  const object: StoredObject = {
    key: "k1",
    cluster_id: "eu-1",
    workspace_id: 1,
    purpose: "workspace-file",
    filename: "msa.pdf",
    content_type: "application/pdf",
    created_at: 1_000,
    blob: null,
  };
  const signed = await context.store.transaction("test", (tx) => {
    tx.put(storedObjects, object);
    return signObjectUrl(tx, context, "PUT", object);
  });
  const headers: Record<string, string> = { "content-type": "application/pdf" };
  const target = signed.url.slice(url.length);
  const request = {
    method: "PUT",
    target,
    parsedTarget: parseRequestTarget(target),
    headers,
    rawHeaders: [],
    body: Buffer.from("bytes"),
    remoteAddress: "127.0.0.1",
    origin: url,
    signal: new AbortController().signal,
    onDisconnect() {},
    cause: { id: "request:1" },
  };
  return { world: context, request, object };
}

const xmlDeclaration = '<?xml version="1.0" encoding="UTF-8"?>\n';

/** The constant error documents by failure code. */
const documents = {
  "storage-signature-mismatch": `${xmlDeclaration}<Error><Code>SignatureDoesNotMatch</Code><Message>The request signature we calculated does not match the signature you provided. Check your key and signing method.</Message>…</Error>`,
  "storage-two-mechanisms": `${xmlDeclaration}<Error><Code>InvalidArgument</Code><Message>Only one auth mechanism allowed; only the X-Sig-Signature query parameter or the Authorization header should be specified</Message><ArgumentName>Authorization</ArgumentName>…</Error>`,
  "storage-credentials": `${xmlDeclaration}<Error><Code>InvalidRequest</Code><Message>The headers client-id and client-secret must not be sent to a signed URL.</Message>…</Error>`,
  "storage-no-such-key": `${xmlDeclaration}<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message><Key>KEY</Key>…</Error>`,
  "storage-too-large": `${xmlDeclaration}<Error><Code>EntityTooLarge</Code><Message>Your proposed upload exceeds the maximum allowed size</Message><MaxSizeAllowed>5368709120</MaxSizeAllowed>…</Error>`,
  "storage-store-failed": `${xmlDeclaration}<Error><Code>ServiceUnavailable</Code><Message>The storage cannot write its state.</Message>…</Error>`,
  "storage-expired": `${xmlDeclaration}<Error><Code>AccessDenied</Code><Message>Request has expired</Message><X-Expires>900</X-Expires><Expires>2031-01-02T03:19:05Z</Expires><ServerTime>2031-01-02T03:19:05Z</ServerTime>…</Error>`,
};
const createXmlResponse = (status: number, xml: string) => ({ status, type: "application/xml", xml });
const mismatch = createXmlResponse(403, documents["storage-signature-mismatch"]);
const expiredResponse = createXmlResponse(403, documents["storage-expired"]);
const createNoSuchKeyResponse = (key: string) =>
  createXmlResponse(404, documents["storage-no-such-key"].replace("KEY", key));

describe("storage.put", () => {
  it("accepts bytes and returns only their MD5 as ETag", async (t) => {
    const emulator = await startTestEmulator(t);
    const response = await putObject((await initializeUpload(emulator)).upload_url, "hello");
    assert.deepEqual(
      { status: response.status, etag: response.headers.get("etag"), body: await response.text() },
      { status: 200, etag: '"5d41402abc4b2a76b9719d911017c592"', body: "" },
    );
  });

  it("accepts an empty body and a body of unknown length", async (t) => {
    const emulator = await startTestEmulator(t);
    const { file_id, upload_url } = await initializeUpload(emulator);
    assert.equal((await putObject(upload_url, "")).headers.get("etag"), '"d41d8cd98f00b204e9800998ecf8427e"');
    assert.equal(await (await fetch(await downloadUrl(emulator, file_id))).text(), "");

    const chunks = new ReadableStream({
      start(controller) {
        for (const part of ["hel", "lo"]) controller.enqueue(new TextEncoder().encode(part));
        controller.close();
      },
    });
    const response = await fetch(upload_url, {
      method: "PUT",
      body: chunks,
      headers: { "content-type": "application/pdf" },
      duplex: "half",
    } as RequestInit);
    assert.equal(response.headers.get("etag"), '"5d41402abc4b2a76b9719d911017c592"');
  });

  it("replaces the object if it is sent again before the URL expires", async (t) => {
    const emulator = await startTestEmulator(t);
    const { file_id, upload_url } = await initializeUpload(emulator);
    await putObject(upload_url, "first");
    await putObject(upload_url, "second");
    assert.equal(await (await fetch(await downloadUrl(emulator, file_id))).text(), "second");
  });

  it("accepts an upload until its URL expires after 15 virtual minutes", async (t) => {
    const emulator = await startTestEmulator(t);
    const { file_id, upload_url } = await initializeUpload(emulator);
    await emulator.control("POST", "clock/advance", { body: { by: "PT14M59S" } });
    assert.equal((await putObject(upload_url, "in time")).status, 200);

    await emulator.control("POST", "clock/advance", { body: { by: "PT1S" } });
    assert.deepEqual(await readStorageError(await putObject(upload_url, "too late")), expiredResponse);
    assert.equal(await (await fetch(await downloadUrl(emulator, file_id))).text(), "in time");
  });

  it("rejects an upload from expires_at on, which has a resolution of seconds", async (t) => {
    const emulator = await startTestEmulator(t);
    await emulator.control("POST", "clock/advance", { body: { to: "2031-01-02T03:04:05.702Z" } });
    const { upload_url, expires_at } = await initializeUpload(emulator);
    assert.equal(expires_at, "2031-01-02T03:19:05Z");
    await emulator.control("POST", "clock/advance", { body: { to: "2031-01-02T03:19:04.999Z" } });
    assert.equal((await putObject(upload_url, "in time")).status, 200);
    await emulator.control("POST", "clock/advance", { body: { to: "2031-01-02T03:19:05.000Z" } });
    assert.equal((await putObject(upload_url, "too late")).status, 403);
  });

  const tampered: [label: string, change: (url: string) => string][] = [
    ["another signature", (url) => url.replace(/Signature=.{4}/, "Signature=0000")],
    ["no signature", (url) => url.replace(/&X-Sig-Signature=.*/, "")],
    ["a longer life", (url) => url.replace("Expires=900", "Expires=901")],
    ["another date", (url) => url.replace("X-Sig-Date=2031", "X-Sig-Date=2032")],
    ["fewer signed headers", (url) => url.replace("content-type%3Bhost", "host")],
    ["another name", (url) => url.replace("msa.pdf", "nda.pdf")],
    ["another object", (url) => url.replace(/_storage\/.{4}/, "_storage/0000")],
    ["a further parameter", (url) => `${url}&x=1`],
    ["no query", (url) => url.replace(/\?.*/, "")],
  ];
  for (const [label, change] of tampered) {
    it(`rejects a URL with ${label}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { file_id, upload_url } = await initializeUpload(emulator);
      assert.notEqual(change(upload_url), upload_url);
      assert.deepEqual(await readStorageError(await putObject(change(upload_url), "evil")), mismatch);
      assert.doesNotMatch(JSON.stringify(await listUploadFindings(emulator)), /other-content-type/);
      assert.deepEqual(
        await readStorageError(await fetch(await downloadUrl(emulator, file_id))),
        createNoSuchKeyResponse(`${file_id}/msa.pdf`),
      );
    });
  }

  const types: [label: string, headers: Record<string, string>][] = [
    ["a content type other than at initialization", { "content-type": "text/plain" }],
    ["an additional parameter of its content type", { "content-type": "application/pdf; charset=utf-8" }],
  ];
  for (const [label, headers] of types) {
    it(`rejects an upload with ${label}`, async (t) => {
      const emulator = await startTestEmulator(t);
      const { file_id, upload_url } = await initializeUpload(emulator);
      assert.deepEqual(await readStorageError(await putObject(upload_url, "bytes", headers)), mismatch);
      assert.deepEqual(await listUploadFindings(emulator), [
        [{ code: "other-content-type", detail: "the URL was signed for the Content-Type application/pdf" }],
      ]);
      assert.deepEqual(
        await readStorageError(await fetch(await downloadUrl(emulator, file_id))),
        createNoSuchKeyResponse(`${file_id}/msa.pdf`),
      );
    });
  }

  it("rejects a body without a content type", async (t) => {
    const emulator = await startTestEmulator(t);
    const { upload_url } = await initializeUpload(emulator);
    assert.deepEqual(await readStorageError(await putObject(upload_url, new Uint8Array([1, 2, 3]), {})), mismatch);
  });

  it("accepts credentials with a finding, because object storage would ignore them", async (t) => {
    const emulator = await startTestEmulator(t);
    const { upload_url } = await initializeUpload(emulator);
    const headers = { "content-type": "application/pdf", "client-id": "a", "client-secret": "b" };
    assert.equal((await putObject(upload_url, "bytes", headers)).status, 200);
    assert.deepEqual(await listUploadFindings(emulator), [
      [{ code: "credentials-on-storage", detail: "client-id and client-secret must not be sent to a signed URL" }],
    ]);
  });

  it("rejects credentials under --strict=storage", async (t) => {
    const emulator = await startTestEmulator(t, { strict: ["storage"] });
    const { file_id, upload_url } = await initializeUpload(emulator);
    for (const name of ["client-id", "client-secret"]) {
      const response = await putObject(upload_url, "bytes", { "content-type": "application/pdf", [name]: "x" });
      assert.deepEqual(await readStorageError(response), createXmlResponse(400, documents["storage-credentials"]));
    }
    assert.deepEqual(
      await readStorageError(await fetch(await downloadUrl(emulator, file_id))),
      createNoSuchKeyResponse(`${file_id}/msa.pdf`),
    );
  });

  it("rejects an upload with a declared size over 5 GiB immediately", async (t) => {
    const emulator = await startTestEmulator(t);
    const { file_id, upload_url } = await initializeUpload(emulator);
    const large = { "content-type": "application/pdf", "content-length": 5 * 1024 ** 3 + 1 };
    const sending = httpRequest(upload_url, { method: "PUT", headers: large });
    sending.flushHeaders();
    const [response] = (await once(sending, "response")) as [IncomingMessage];
    const text = Buffer.concat(await response.toArray()).toString();
    sending.destroy();
    const headers = { "content-type": response.headers["content-type"]! };
    const errorResponse = new Response(text, { status: response.statusCode!, headers });
    assert.deepEqual(await readStorageError(errorResponse), createXmlResponse(400, documents["storage-too-large"]));
    assert.deepEqual(
      await readStorageError(await fetch(await downloadUrl(emulator, file_id))),
      createNoSuchKeyResponse(`${file_id}/msa.pdf`),
    );
  });

  it("rejects an upload while the disk is full, and accepts it afterwards", async (t) => {
    const folder = await createTemporaryFolder(t);
    const emulator = await startTestEmulator(t, { file: join(folder, "emulator.json") });
    const { file_id, upload_url } = await initializeUpload(emulator);
    await rm(join(folder, "files"), { recursive: true });
    await writeFile(join(folder, "files"), "of somebody else");
    assert.deepEqual(
      await readStorageError(await putObject(upload_url, "hello")),
      createXmlResponse(503, documents["storage-store-failed"]),
    );
    assert.deepEqual(
      await readStorageError(await fetch(await downloadUrl(emulator, file_id))),
      createNoSuchKeyResponse(`${file_id}/msa.pdf`),
    );
    await rm(join(folder, "files"));
    assert.equal((await putObject(upload_url, "hello")).status, 200);
  });

  const troubles: [code: string, thrown: Error][] = [
    ["storage-too-large", new BlobTooLargeError("5 GiB and a byte")],
    ["storage-store-failed", new StoreFailedError("disk full")],
  ];
  for (const [code, thrown] of troubles) {
    it(`returns ${code} when the bytes cannot be stored`, async () => {
      const { world, request, object } = await createSignedPut(() => Promise.reject(thrown));
      const isExpectedError = (error: unknown) => error instanceof DeclaredFailureError && error.code === code;
      await assert.rejects(async () => {
        const context = { ...world, request, caller: undefined, fail, finding: () => {} };
        const params = { object_key: object.key, filename: object.filename };
        await storageHandlers["storage.put"](
          { params, query: {}, headers: {}, body: Readable.from([request.body]) },
          context,
        );
      }, isExpectedError);
      assert.deepEqual(world.store.get(storedObjects, object.key), object);
    });
  }
});

describe("storage.get", () => {
  it("rejects an upload URL, as a PUT rejects a download URL", async (t) => {
    const emulator = await startTestEmulator(t);
    const { file_id, upload_url } = await initializeUpload(emulator);
    assert.deepEqual(await readStorageError(await fetch(upload_url)), mismatch);
    const url = await downloadUrl(emulator, file_id);
    assert.deepEqual(await readStorageError(await putObject(url, "evil")), mismatch);
  });

  it("rejects another method like a mismatched signature", async (t) => {
    const emulator = await startTestEmulator(t);
    const { file_id, upload_url } = await initializeUpload(emulator);
    await putObject(upload_url, "bytes");
    const url = await downloadUrl(emulator, file_id);
    for (const method of ["POST", "DELETE", "PATCH"]) {
      for (const target of [upload_url, url])
        assert.deepEqual(await readStorageError(await fetch(target, { method })), mismatch);
    }
    const head = await fetch(url, { method: "HEAD" });
    assert.deepEqual([head.status, head.headers.get("content-type")], [403, "application/xml"]);
    assert.equal(await (await fetch(url)).text(), "bytes");
  });

  it("rejects an authorization header, as a PUT does", async (t) => {
    const emulator = await startTestEmulator(t);
    const { file_id, upload_url } = await initializeUpload(emulator);
    const headers = { "content-type": "application/pdf", authorization: "Bearer token" };
    const expected = createXmlResponse(400, documents["storage-two-mechanisms"]);
    assert.deepEqual(await readStorageError(await putObject(upload_url, "bytes", headers)), expected);
    await putObject(upload_url, "bytes");
    const url = await downloadUrl(emulator, file_id);
    assert.deepEqual(await readStorageError(await fetch(url, { headers })), expected);
    assert.equal(await (await fetch(url)).text(), "bytes");
  });

  it("rejects a URL after 15 virtual minutes", async (t) => {
    const emulator = await startTestEmulator(t);
    const { file_id, upload_url } = await initializeUpload(emulator);
    await putObject(upload_url, "bytes");
    const url = await downloadUrl(emulator, file_id);
    await emulator.control("POST", "clock/advance", { body: { by: "PT15M" } });
    assert.deepEqual(await readStorageError(await fetch(url)), expiredResponse);
    assert.equal((await fetch(await downloadUrl(emulator, file_id))).status, 200);
  });

  it("returns an error before the upload", async (t) => {
    const emulator = await startTestEmulator(t);
    const { file_id } = await initializeUpload(emulator);
    assert.deepEqual(
      await readStorageError(await fetch(await downloadUrl(emulator, file_id))),
      createNoSuchKeyResponse(`${file_id}/msa.pdf`),
    );
  });
});

describe("storage path without an object", () => {
  it("returns 404 without forwarding the request", async (t) => {
    const { clusters } = await startTestEmulator(t);
    for (const path of ["/_storage", "/_storage/", "/_storage/x", "/_storage/a/b/c"]) {
      for (const method of ["GET", "PUT", "POST"]) {
        const { status } = await fetch(clusters[0]!.url + path, { method });
        assert.equal(status, 404, `${method} ${path}`);
      }
    }
  });
});
