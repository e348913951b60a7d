import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pickStatusAndBody, startTestEmulator } from "../../../support/emulator.ts";
import { assertRejected, notFoundResponse } from "../../../support/rejections.ts";
import { createWorkspaceApi } from "../../../support/workspace-api.ts";

const uploads = "/api/v2.1/public/workspace/files/uploads/";
const getFilePath = (id: string) => `/api/v2.1/public/workspace/files/${id}/`;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

interface Upload {
  file_id: string;
  filename: string;
  upload_url: string;
  expires_at: string;
}

const pdf = { filename: "msa.pdf", content_type: "application/pdf" };

describe("files.initialize", () => {
  it("returns an ID and a URL that is valid for 15 virtual minutes per file", async (t) => {
    const { api, clusters } = await startTestEmulator(t);
    const response = await api("POST", uploads, { body: { files: [pdf, { ...pdf, filename: "nda.pdf" }] } });
    assert.equal(response.status, 200);
    const { files } = response.body as { files: Upload[] };
    assert.deepEqual(
      files.map(({ filename, expires_at }) => ({ filename, expires_at })),
      [
        { filename: "msa.pdf", expires_at: "2031-01-02T03:19:05Z" },
        { filename: "nda.pdf", expires_at: "2031-01-02T03:19:05Z" },
      ],
    );
    for (const { file_id, filename, upload_url } of files) {
      assert.match(file_id, uuid);
      assert.ok(upload_url.startsWith(`${clusters[0]!.url}/_storage/${file_id}/${filename}?`), upload_url);
    }
    assert.notEqual(files[0]!.file_id, files[1]!.file_id);
  });

  const names: [given: string, type: string, kept: string][] = [
    ["contract", "application/pdf", "contract.pdf"],
    ["contract", "text/plain; charset=utf-8", "contract.txt"],
    ["contract", "application/x-unheard-of", "contract"],
    ["contract.docx", "application/pdf", "contract.docx"],
    ["../../etc/passwd", "text/plain", "passwd.txt"],
    ["C:\\papers\\a b.pdf", "application/pdf", "a b.pdf"],
    ['a<b>:"c|d?e*.pdf', "application/pdf", "a_b___c_d_e_.pdf"],
    ["tab\there\u0000.pdf", "application/pdf", "tab_here_.pdf"],
    ["..", "application/pdf", "file.pdf"],
    ["half \ud800.pdf", "application/pdf", "half _.pdf"],
    ["Über 50 %#&.pdf", "application/pdf", "Über 50 %#&.pdf"],
    [`${"x".repeat(300)}.pdf`, "application/pdf", `${"x".repeat(251)}.pdf`],
  ];
  for (const [filename, content_type, storedName] of names) {
    it(`stores ${JSON.stringify(filename.slice(0, 20))} as ${JSON.stringify(storedName.slice(0, 20))}`, async (t) => {
      const { api } = await startTestEmulator(t);
      const response = await api("POST", uploads, { body: { files: [{ filename, content_type }] } });
      const [file] = (response.body as { files: Upload[] }).files;
      assert.equal(file?.filename, storedName);
      // A name must not break the URL that carries it.
      const upload = await fetch(file!.upload_url, {
        method: "PUT",
        body: "x",
        headers: { "content-type": content_type },
      });
      assert.equal(upload.status, 200);
    });
  }

  const malformed: [label: string, body: unknown, fields: unknown][] = [
    ["no files", {}, { files: ["Field required"] }],
    ["an empty list", { files: [] }, { files: ["List should have at least 1 item after validation, not 0"] }],
    [
      "51 files",
      { files: Array.from({ length: 51 }, () => pdf) },
      { files: ["List should have at most 50 items after validation, not 51"] },
    ],
    [
      "a row that lacks both fields, told by its index",
      { files: [pdf, {}] },
      { files: { 1: { filename: ["Field required"], content_type: ["Field required"] } } },
    ],
    [
      "an empty name",
      { files: [{ ...pdf, filename: "" }] },
      { files: { 0: { filename: ["String should have at least 1 character"] } } },
    ],
    [
      "an invalid content type",
      { files: [{ ...pdf, content_type: "pdf" }] },
      { files: { 0: { content_type: ["Value should be a MIME type such as application/pdf"] } } },
    ],
    [
      "a content type with a line break",
      { files: [{ ...pdf, content_type: "text/plain\r\nx-evil: 1" }] },
      { files: { 0: { content_type: ["Value should be a MIME type such as application/pdf"] } } },
    ],
  ];
  for (const [label, body, fields] of malformed) {
    it(`rejects ${label}`, async (t) => {
      const emulator = await startTestEmulator(t);
      await assertRejected(emulator, () => emulator.api("POST", uploads, { body }), { status: 400, body: fields });
    });
  }
});

describe("files.show", () => {
  it("returns a download URL for the uploaded bytes", async (t) => {
    const { api } = await startTestEmulator(t);
    const { body } = await api("POST", uploads, {
      body: { files: [{ filename: "ä (1).txt", content_type: "text/plain" }] },
    });
    const [file] = (body as { files: Upload[] }).files;
    await fetch(file!.upload_url, { method: "PUT", body: "hello", headers: { "content-type": "text/plain" } });

    const response = await api("GET", getFilePath(file!.file_id));
    assert.equal(response.status, 200);
    const { signed_url, ...rest } = response.body as { signed_url: string };
    assert.deepEqual(rest, {});
    const download = await fetch(signed_url);
    assert.deepEqual(
      {
        status: download.status,
        type: download.headers.get("content-type"),
        name: download.headers.get("content-disposition"),
        sniff: download.headers.get("x-content-type-options"),
        text: await download.text(),
      },
      {
        status: 200,
        type: "text/plain",
        name: "attachment; filename=\"? (1).txt\"; filename*=UTF-8''%C3%A4%20%281%29.txt",
        sniff: "nosniff",
        text: "hello",
      },
    );
  });

  it("returns the file as soon as its upload is initialized", async (t) => {
    const { api } = await startTestEmulator(t);
    const { body } = await api("POST", uploads, { body: { files: [pdf] } });
    const [file] = (body as { files: Upload[] }).files;
    assert.equal((await api("GET", getFilePath(file!.file_id))).status, 200);
  });

  it("rejects an unknown file and a file of another workspace", async (t) => {
    const emulator = await startTestEmulator(t);
    await assertRejected(
      emulator,
      () => emulator.api("GET", getFilePath("4d0b0f5e-8f4b-4f43-9c4e-0a3c5a2f6f10")),
      notFoundResponse,
    );
    await assertRejected(emulator, () => emulator.api("GET", getFilePath("no-uuid")), notFoundResponse);

    const otherApi = await createWorkspaceApi(emulator, 2);
    const { body } = await otherApi("POST", uploads, { body: { files: [pdf] } });
    const foreign = (body as { files: Upload[] }).files[0]!.file_id;
    assert.equal((await otherApi("GET", getFilePath(foreign))).status, 200);
    assert.deepEqual(pickStatusAndBody(await emulator.api("GET", getFilePath(foreign))), notFoundResponse);
  });
});
