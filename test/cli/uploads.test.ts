import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, utimesSync } from "node:fs";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder, startCliEmulator } from "../support/cli/cli-emulator.ts";
import { runCli } from "../support/cli/run-cli.ts";
import { type ReceivedRequest, startReceiver } from "../support/receiver.ts";

interface NamedFile {
  readonly filename: string;
}

/** A service that answers each PUT with `onPut` and initializes uploads with `onInitialize`. */
async function startStorage(
  t: TestContext,
  onPut: (request: ReceivedRequest, count: number) => { status: number; body?: string },
  onInitialize: (files: readonly (NamedFile & { readonly file_id: string })[]) => readonly NamedFile[] = (files) =>
    files,
) {
  const service = await startReceiver(t);
  let ids = 0;
  let puts = 0;
  service.respond((request, response) => {
    if (request.method === "PUT") {
      puts += 1;
      const { status, body = "" } = onPut(request, puts);
      response.writeHead(status).end(body);
      return;
    }
    const namedFiles = JSON.parse(request.body.toString()).files as NamedFile[];
    const files = namedFiles.map(({ filename }) => {
      ids += 1;
      const upload_url = `${service.url}/bucket/f-${ids}`;
      return { file_id: `f-${ids}`, filename, upload_url, expires_at: "2031-01-02T03:19:05Z" };
    });
    response.end(JSON.stringify({ files: onInitialize(files) }));
  });
  const cwd = await createTestFolder(t);
  const env = { SVC_BASE_URL: service.url, SVC_CLIENT_ID: "id", SVC_CLIENT_SECRET: "secret" };
  const upload = (files: readonly string[], ...flags: string[]) =>
    runCli(["files", "upload", ...files, ...flags, "--retries", "0"], { cwd, env });
  const stored = () =>
    Object.fromEntries(
      service.received.filter(({ method }) => method === "PUT").map(({ url, body }) => [url, body.toString()]),
    );
  return { cwd, upload, stored, requests: () => service.received.map(({ method }) => method) };
}

const createAccessDeniedResponse = (message: string) => ({
  status: 403,
  body: `<Error><Code>AccessDenied</Code><Message>${message}</Message></Error>`,
});

it("says that nothing was uploaded to a file_id", async (t) => {
  const { svc, json } = await startCliEmulator(t);
  const stdin = '{"files":[{"filename":"a.pdf","content_type":"application/pdf"}]}';
  const { files } = await json<{ files: { file_id: string }[] }>("files initialize --data -", { stdin });
  const { exit, stderr } = await svc(`files download ${files[0]!.file_id}`);
  assert.deepEqual(
    [exit, stderr.split("\n").slice(1)],
    [5, ["  No file is stored there: its upload was not completed, or it was deleted.", ""]],
    stderr,
  );
});

describe("svc files upload", () => {
  it("requests one new URL when the first URL has expired", async (t) => {
    const { cwd, upload, stored, requests } = await startStorage(t, (_, count) =>
      count === 1 ? createAccessDeniedResponse("Request has expired") : { status: 201 },
    );
    await writeFile(join(cwd, "a.txt"), "hello");
    const { exit, stdout } = await upload(["a.txt"], "--json=file_id");
    assert.deepEqual([exit, JSON.parse(stdout)], [0, [{ file_id: "f-2" }]]);
    assert.deepEqual(requests(), ["POST", "PUT", "POST", "PUT"]);
    assert.equal(stored()["/bucket/f-2"], "hello");
  });

  it("reports a rejection by the storage and requests no third URL", async (t) => {
    const { cwd, upload, requests } = await startStorage(t, () => createAccessDeniedResponse("Request has expired"));
    await writeFile(join(cwd, "a.txt"), "hello");
    const { exit, stderr } = await upload(["a.txt"]);
    assert.deepEqual([exit, requests()], [1, ["POST", "PUT", "POST", "PUT"]]);
    assert.equal(
      stderr,
      "error: Request has expired (HTTP 403)\n  The signed URL has expired or was changed. Run the command again for a new URL.\n",
    );
  });

  it("finds the URL of each file by name, or by order for equal names", async (t) => {
    const { cwd, upload, stored } = await startStorage(
      t,
      () => ({ status: 204 }),
      (files) => [...files].sort((a, b) => b.filename.localeCompare(a.filename)),
    );
    for (const [path, content] of [
      ["a.txt", "first a"],
      ["b.txt", "b"],
    ] as const)
      await writeFile(join(cwd, path), content);
    const { exit, stdout } = await upload(["a.txt", "b.txt", "./a.txt"], "--json=file_id,path");
    assert.equal(exit, 0);
    assert.deepEqual(JSON.parse(stdout), [
      { file_id: "f-1", path: "a.txt" },
      { file_id: "f-2", path: "b.txt" },
      { file_id: "f-3", path: "./a.txt" },
    ]);
    assert.deepEqual(stored(), { "/bucket/f-1": "first a", "/bucket/f-2": "b", "/bucket/f-3": "first a" });
  });

  it("reports a file without a URL and uploads no files", async (t) => {
    const { cwd, upload, requests } = await startStorage(
      t,
      () => ({ status: 200 }),
      (files) => files.slice(1),
    );
    for (const path of ["a.txt", "b.txt"]) await writeFile(join(cwd, path), path);
    const { exit, stderr } = await upload(["a.txt", "b.txt"]);
    assert.deepEqual([exit, requests()], [1, ["POST"]]);
    assert.match(stderr, /^error: The service returned 1 URL for 2 files: none for a\.txt\.\n/);
  });

  it("uploads an empty file and piped input", async (t) => {
    const { svc, json, cwd } = await startCliEmulator(t);
    await writeFile(join(cwd, "empty.txt"), "");
    const [empty] = await json<{ file_id: string; bytes: number }[]>(["files", "upload", "empty.txt"]);
    assert.deepEqual([empty!.bytes, (await svc(["files", "download", empty!.file_id])).stdout], [0, ""]);
    const [piped] = await json<{ file_id: string; filename: string; content_type: string }[]>(
      ["files", "upload", "-", "--filename", "notes.txt"],
      { stdin: "from a pipe" },
    );
    assert.deepEqual([piped!.filename, piped!.content_type], ["notes.txt", "text/plain"]);
    assert.equal((await svc(["files", "download", piped!.file_id])).stdout, "from a pipe");
  });

  it("uploads the whole contents of a named pipe, also with an intake", async (t) => {
    const { svc, json, cwd } = await startCliEmulator(t);
    execFileSync("mkfifo", [join(cwd, "notes.txt")]);
    const write = () => {
      const writer = execFile("sh", ["-c", "printf 'from a pipe' > notes.txt"], { cwd });
      t.after(() => writer.kill());
    };
    write();
    const [uploaded] = await json<{ file_id: string; bytes: number }[]>(["files", "upload", "notes.txt"]);
    assert.deepEqual(
      [uploaded!.bytes, (await svc(["files", "download", uploaded!.file_id])).stdout],
      [11, "from a pipe"],
    );
    write();
    const intake = ["intake", "create", "--workflow-id", "201", "--title", "MSA", "--file", "notes.txt", "--dry-run"];
    assert.match((await svc(intake)).stderr, /would upload notes\.txt \(11 bytes\)/);
  });

  it("uploads the whole contents of a file that reports no size", { skip: !existsSync("/proc/version") }, async (t) => {
    const { svc, json } = await startCliEmulator(t);
    const [uploaded] = await json<{ file_id: string }[]>(["files", "upload", "/proc/version"]);
    assert.equal((await svc(["files", "download", uploaded!.file_id])).stdout, readFileSync("/proc/version", "utf8"));
  });

  it("rejects a device, also through a link", async (t) => {
    const { svc, cwd } = await startCliEmulator(t);
    await symlink("/dev/zero", join(cwd, "zero.bin"));
    const { exit, stdout, stderr } = await svc(["files", "upload", "zero.bin"]);
    assert.deepEqual(
      [exit, stdout, stderr],
      [2, "", "error: <path>: zero.bin is a device, not a file\n  See svc files upload --help.\n"],
    );
  });

  for (const [label, change] of [
    ["grows", (path: string) => appendFileSync(path, "more")],
    ["is written to", (path: string) => utimesSync(path, 1, 1)],
  ] as const) {
    it(`reports a file that ${label} during the upload`, async (t) => {
      let path = "";
      const { cwd, upload } = await startStorage(
        t,
        () => {
          if (label === "is written to") change(path);
          return { status: 200 };
        },
        (files) => {
          if (label === "grows") change(path);
          return files;
        },
      );
      path = join(cwd, "a.txt");
      await writeFile(path, "hello");
      const { exit, stderr } = await upload(["a.txt"]);
      assert.deepEqual(
        [exit, stderr],
        [1, "error: a.txt changed while it was uploaded.\n  Upload it again when no program writes to it.\n"],
      );
    });
  }
});
