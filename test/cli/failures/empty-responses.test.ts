import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { getProgramPath } from "../../support/program.ts";

const fileId = "4d0b0f5e-8f4b-4f43-9c4e-0a3c5a2f6f10";

/** A service that sends this response to every request, except for a file lookup. */
async function startUploadService(t: TestContext, respond: (response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    request.resume();
    if (!request.url!.includes(fileId)) return respond(response);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ signed_url: `${url}/stored` }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cwd = await createTestFolder(t);
  const env = { SVC_BASE_URL: url, SVC_CLIENT_ID: "a", SVC_CLIENT_SECRET: "b", SVC_CONFIG_DIR: cwd };
  await writeFile(join(cwd, "good.pdf"), "good");
  return {
    env,
    svc: (argv: string) => runCli(argv, { cwd, env }),
    readStored: () => readFile(join(cwd, "good.pdf"), "utf8"),
  };
}

const hint = "  Check that the base URL belongs to the service, not to a web page or a proxy.\n";

describe("empty response to a read", () => {
  for (const [label, respond] of [
    ["no bytes", (response: ServerResponse) => response.writeHead(200).end()],
    ["blanks", (response: ServerResponse) => response.writeHead(200).end(" \n")],
  ] as const) {
    it(`fails the command: ${label}`, async (t) => {
      const { svc } = await startUploadService(t, respond);
      for (const argv of [
        "contracts status T-1 --quiet",
        "contracts status T-1 --json --quiet",
        "contracts templates list --quiet",
      ]) {
        const { exit, stdout, stderr } = await svc(argv);
        assert.deepEqual([exit, stdout], [1, ""], argv);
        assert.match(stderr, /Expected JSON, but the service responded 200 with an empty body/, argv);
      }
    });
  }
});

it("an empty response to a write is reported without a response body", async (t) => {
  const { svc } = await startUploadService(t, (response) => response.writeHead(200).end());
  const { exit, stdout, stderr } = await svc("contracts download-link T-1");
  assert.deepEqual(
    [exit, stdout, stderr.split("\n").at(-2)],
    [0, "", "Get a signed download URL for a contract: the service responded 200 with an empty body"],
  );
});

describe("incomplete download", () => {
  const cases: [label: string, answer: (response: ServerResponse) => void, message: string][] = [
    [
      "part of the document",
      (response) => response.writeHead(206, { "content-range": "bytes 0-3/900" }).end("part"),
      "The service responded 206 with a part of the document.",
    ],
    [
      "no content",
      (response) => response.writeHead(204).end(),
      "Expected a document, but the service responded 204 with an empty body.",
    ],
  ];
  for (const [label, respond, message] of cases) {
    it(`preserves the previous file: ${label}`, async (t) => {
      const { svc, readStored } = await startUploadService(t, respond);
      assert.deepEqual(await svc(`files download ${fileId} -o good.pdf --quiet`), {
        exit: 1,
        stdout: "",
        stderr: `error: ${message}\n${hint}`,
      });
      assert.equal(await readStored(), "good");
    });
  }

  it("preserves the previous file if the response breaks off, even without a length", async (t) => {
    for (const headers of [{}, { "content-length": "900" }]) {
      const { svc, readStored } = await startUploadService(t, (response) => {
        response.writeHead(200, headers).write("part", () => response.destroy());
      });
      const { exit, stderr } = await svc(`files download ${fileId} -o good.pdf --quiet --retries 0`);
      assert.equal(exit, 75, stderr);
      assert.equal(await readStored(), "good");
    }
  });

  it("preserves the previous file if a generated document is empty", async (t) => {
    const { svc, readStored } = await startUploadService(t, (response) => response.writeHead(200).end());
    const { exit, stderr } = await svc("contracts download T-1 -o good.pdf --quiet");
    assert.deepEqual([exit, await readStored()], [1, "good"], stderr);
  });

  it("stores an empty file if the file itself is empty", async (t) => {
    const { svc, readStored } = await startUploadService(t, (response) =>
      response.writeHead(200, { "content-length": 0 }).end(),
    );
    assert.deepEqual([(await svc(`files download ${fileId} -o good.pdf --quiet`)).exit, await readStored()], [0, ""]);
  });
});

describe("response of another server than the service", () => {
  for (const [status, message] of [
    [404, "Not found: GET /api/v2.1/public/contracts/T-1/status"],
    [403, "The service rejected the request"],
  ] as const) {
    it(`a page with status ${status} says nothing about contracts or permissions`, async (t) => {
      const { svc } = await startUploadService(t, (response) =>
        response.writeHead(status, { "content-type": "text/html" }).end("<html>nginx</html>"),
      );
      const { exit, stderr } = await svc("contracts status T-1");
      const pageHint = `  The response is not JSON. ${hint.trim()}\n`;
      assert.deepEqual([exit, stderr], [status === 404 ? 5 : 4, `error: ${message} (HTTP ${status})\n${pageHint}`]);
    });
  }

  it("a redirect is reported with its target and not followed", async (t) => {
    const { svc } = await startUploadService(t, (response) =>
      response.writeHead(301, { location: "https://api.example/api", "content-type": "text/html" }).end("<html>"),
    );
    for (const line of ["contracts status T-1", "contracts send T-1"]) {
      const { exit, stdout, stderr } = await svc(line);
      const message = "error: The service redirects to https://api.example/api (HTTP 301)";
      const movedHint = "  Redirects are not followed. If the service has moved, change the base URL.";
      assert.deepEqual([exit, stdout, stderr], [1, "", `${message}\n${movedHint}\n`]);
    }
  });
});

it("svc api prints the bytes of an error response unchanged", async (t) => {
  const bytes = Buffer.from('{"detail":"Añejo"}\n', "latin1");
  const { env } = await startUploadService(t, (response) => response.writeHead(400).end(bytes));
  const child = spawn(process.execPath, [getProgramPath("svc"), "api", "GET", "/anything"], { env });
  assert.deepEqual(Buffer.concat(await child.stdout.toArray()), bytes);
});
