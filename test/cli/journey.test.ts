import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createTestFolder, startCliEmulator } from "../support/cli/cli-emulator.ts";
import { runCli } from "../support/cli/run-cli.ts";
import { createUploadRequest, requireContract } from "../support/contracts.ts";
import { startReceiver } from "../support/receiver.ts";

const counterparty = {
  is_individual: false,
  organization_name: "Acme Inc.",
  organization_type: "Corporation",
  poc_details: { first_name: "Jo", last_name: "Doe", email: "jo@acme.example" },
};
const nda = {
  contract_template_id: 101,
  contract_name: "NDA",
  contract_data: {},
  counter_party_details: [counterparty],
};

describe("contract workflow on the command line", () => {
  it("uploads files of any name and downloads the same bytes", async (t) => {
    const { svc, json, cwd } = await startCliEmulator(t);
    const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, i) => i % 251));
    await writeFile(join(cwd, "a b.pdf"), bytes);
    await writeFile(join(cwd, "notes.txt"), "hello");
    const files = await json<{ file_id: string }[]>(["files", "upload", "a b.pdf", "notes.txt"]);
    assert.deepEqual(
      files.map(({ file_id: _, ...file }) => file),
      [
        { filename: "a b.pdf", path: "a b.pdf", bytes: 200_000, content_type: "application/pdf" },
        { filename: "notes.txt", path: "notes.txt", bytes: 5, content_type: "text/plain" },
      ],
    );
    assert.equal((await svc(["files", "download", files[0]!.file_id, "-o", "back.pdf"])).exit, 0);
    assert.deepEqual(await readFile(join(cwd, "back.pdf")), bytes);
    assert.equal((await svc(["files", "download", files[1]!.file_id])).stdout, "hello");
  });

  it("sends the content type and length to the storage without sender data", async (t) => {
    const service = await startReceiver(t);
    service.respond(({ method }, response) => {
      const upload_url = `${service.url}/bucket/key?X-Sig-Signature=abc`;
      const file = { file_id: "f-1", filename: "a.txt", upload_url, expires_at: "2031-01-02T03:19:05Z" };
      response.end(method === "PUT" ? "" : JSON.stringify({ files: [file] }));
    });
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "a.txt"), "hello");
    const env = { SVC_BASE_URL: service.url, SVC_CLIENT_ID: "id", SVC_CLIENT_SECRET: "secret", SVC_TOKEN: "token" };
    assert.equal((await runCli("files upload a.txt", { cwd, env })).exit, 0);
    const [, request] = service.received;
    const { host: _, connection: __, "user-agent": ___, ...headers } = request!.headers;
    assert.deepEqual(
      [request!.method, request!.url, headers, request!.body.toString()],
      ["PUT", "/bucket/key?X-Sig-Signature=abc", { "content-type": "text/plain", "content-length": "5" }, "hello"],
    );
  });

  it("uploads the files of an intake before its creation", async (t) => {
    const { json, cwd } = await startCliEmulator(t);
    await writeFile(join(cwd, "msa.pdf"), "%PDF-1.4");
    const argv = [
      "intake",
      "create",
      "--title",
      "Review",
      "--workflow-id",
      "201",
      "--file",
      "msa.pdf",
      "--set",
      "metadata.zip=4711",
    ];
    const intake = await json<{ attachments: { name: string }[]; metadata: unknown }>(argv);
    assert.deepEqual([intake.attachments.map(({ name }) => name), intake.metadata], [["msa.pdf"], { zip: "4711" }]);
  });

  it("uploads no files if the intake is invalid", async (t) => {
    const { svc, json, cwd } = await startCliEmulator(t);
    await writeFile(join(cwd, "msa.pdf"), "%PDF-1.4");
    const { exit, stderr } = await svc("intake create --title x --file msa.pdf");
    assert.deepEqual([exit, stderr.includes("--workflow-id is required")], [2, true]);
    assert.deepEqual(await json("emulator requests --fields operation"), []);
  });

  it("warns of a misspelled field that the service ignores", async (t) => {
    const { svc } = await startCliEmulator(t);
    const right = ["contracts", "create", "--data", "-", "--set", "contract_name=x"];
    assert.equal((await svc(right, { stdin: JSON.stringify(nda) })).stderr.includes("warning"), false);
    const { exit, stderr } = await svc(["contracts", "create", "--data", "-", "--set", "contract_nme=x"], {
      stdin: JSON.stringify(nda),
    });
    assert.deepEqual(
      [exit, stderr.split("\n")[0]],
      [0, "warning: contract_nme is not a declared field of the body and may be ignored. Did you mean contract_name?"],
    );
  });

  it("prefers flags to --set and --set to --data", async (t) => {
    const { json, cwd } = await startCliEmulator(t);
    await writeFile(
      join(cwd, "nda.json"),
      JSON.stringify({ ...nda, contract_name: "from data", contract_data: { term: "1" } }),
    );
    const fromSet = await json<{ contract_name: string }>([
      "contracts",
      "create",
      "--data",
      "nda.json",
      "--set",
      "contract_name=from set",
    ]);
    const fromFlag = await json<{ contract_name: string }>(
      ["contracts", "create", "--data", "-", "--set", "contract_name=from set", "--contract-name", "from flag"],
      { stdin: JSON.stringify(nda) },
    );
    assert.deepEqual([fromSet.contract_name, fromFlag.contract_name], ["from set", "from flag"]);
  });

  it("sends a contract, waits in virtual time and ends when all parties have signed", async (t) => {
    const { json, svc, emulator } = await startCliEmulator(t);
    await json("contracts create --data -", { stdin: JSON.stringify(nda) });
    const waiting = json("contracts send T-1 --wait executed");
    // The contract is signed while the wait polls.
    while ((await json<{ contract_status: string }>("contracts status T-1")).contract_status !== "SIGN");
    assert.equal((await emulator.control("POST", "contracts/T-1/sign", { body: {} })).status, 200);
    assert.deepEqual(await waiting, { contract_status: "EXECUTED", contract_name: "NDA" });
    assert.equal((await svc("contracts send T-1")).exit, 1);
  });

  it("exits with 75 after the timeout of a wait and at once for an impossible status", async (t) => {
    const { json, svc } = await startCliEmulator(t);
    await json("contracts create --data -", { stdin: JSON.stringify(nda) });
    const result = await svc("contracts send T-1 --wait executed --wait-timeout 0s");
    assert.match(result.stderr, /^Sent T-1, waiting for EXECUTED \(at most 0s; change it with --wait-timeout\)$/m);
    assert.deepEqual(
      [result.exit, result.stderr.includes("Timed out after 0 s waiting for T-1 to be EXECUTED.")],
      [75, true],
    );
    await json("contracts create --data -", { stdin: JSON.stringify(nda) });
    const waiting = svc("contracts send T-2 --wait executed");
    while ((await json<{ contract_status: string }>("contracts status T-2")).contract_status !== "SIGN");
    await json("emulator void T-2");
    const { exit, stderr } = await waiting;
    assert.match(stderr, /\(at most 10m; change it with --wait-timeout\)$/m);
    assert.deepEqual([exit, stderr.includes("T-2 is VOIDED and cannot become EXECUTED")], [1, true]);
  });

  it("continues the wait for a contract that its counterparty reviews, but not for paper in review", async (t) => {
    const { json, svc, emulator } = await startCliEmulator(t);
    await json("contracts create --data -", { stdin: JSON.stringify({ ...nda, contract_template_id: 104 }) });
    const send = (id: string) => svc(`contracts send ${id} --wait executed --wait-timeout 0s`);
    assert.equal((await send("T-1")).exit, 75);
    const again = await send("T-1");
    assert.deepEqual([again.exit, again.stderr.split("\n")[0]?.slice(0, 20)], [75, "T-1 was already sent"]);
    await requireContract(
      emulator.api("POST", "/api/v2.1/public/contracts/upload_review_contracts/", {
        body: await createUploadRequest(),
      }),
    );
    const paper = await send("T-2");
    assert.deepEqual(
      [paper.exit, paper.stderr.split("\n")[0]],
      [1, "error: Cannot send T-2: status is REDLINING, expected DRAFT (HTTP 400)"],
    );
  });

  it("exits with 5 for missing objects, 1 for rejections and 4 for missing permissions", async (t) => {
    const { svc } = await startCliEmulator(t);
    const cases: [string, Record<string, string>, number, RegExp][] = [
      ["contracts status T-99", {}, 5, /Contract T-99 not found \(HTTP 404\)/],
      ["contracts send T-99", {}, 5, /Contract T-99 not found \(HTTP 404\)/],
      ["contracts status T-1", { SVC_CLIENT_SECRET: "wrong" }, 4, /\(HTTP 401\)/],
      ["intake create --title x --workflow-id 203", {}, 1, /This workflow is not an INTAKE_WORKFLOW/],
      ["router show-email nobody", {}, 5, /No cluster mapping for this email hash/],
    ];
    for (const [argv, env, exit, message] of cases) {
      const result = await svc(argv, { env });
      assert.deepEqual([argv, result.exit, result.stdout], [argv, exit, ""]);
      assert.match(result.stderr, message);
      assert(!result.stderr.includes("wrong"), "a secret stands in the message");
    }
  });

  it("verifies a delivery by its raw bytes from a file or standard input", async (t) => {
    const { svc, cwd, emulator } = await startCliEmulator(t);
    const key = emulator.clusters[0]!.hmacKey!;
    await writeFile(join(cwd, "key"), `${key}\n`);
    const { contentHash } = await import("../../src/schemes/webhook.ts");
    const body = '{"a": "ü"}\n';
    const signature = contentHash(key, Buffer.from(body));
    await writeFile(join(cwd, "body"), body);
    assert.deepEqual(await svc(["webhooks", "verify", "body", "--signature", signature, "--key-file", "key"]), {
      exit: 0,
      stdout: "valid\n",
      stderr: "",
    });
    assert.equal((await svc(["webhooks", "verify", "-", "--signature", signature], { stdin: body })).exit, 0);
    const altered = await svc(["webhooks", "verify", "-", "--signature", signature, "--json"], { stdin: body.trim() });
    assert.deepEqual([altered.exit, altered.stdout, JSON.parse(altered.stderr).error.code], [1, "", "mismatch"]);
    const upper = await svc(["webhooks", "verify", "body", "--signature", signature.toUpperCase()]);
    assert.deepEqual([upper.exit, upper.stderr.includes(key)], [1, false]);
  });

  it("requests any path with svc api and the credentials of its service", async (t) => {
    const { svc } = await startCliEmulator(t);
    const workflows = await svc(["api", "GET", "/api/v2.1/public/contracts/T-1/status"]);
    assert.deepEqual([workflows.exit, JSON.parse(workflows.stdout)], [5, { detail: "Not found." }]);
    const clock = await svc("api GET /_emulator/clock");
    assert.deepEqual([clock.exit, JSON.parse(clock.stdout).mode], [0, "manual"]);
    const posted = await svc(["api", "POST", "/router/v1/oauth2.0/client/", "--data", "-"], {
      stdin: '{"client_name":"x"}',
    });
    assert.equal(JSON.parse(posted.stdout).client_name, "x");
  });

  it("reports that the router forwarded an unknown path, except with --quiet", async (t) => {
    const { svc } = await startCliEmulator(t);
    const getError = async (argv: string, tty = false) => {
      const { exit, stderr } = await svc(`api ${argv}`, { tty });
      return [exit, stderr];
    };
    const note = (label: string) => `${label} is not an operation. The router forwarded it to the clusters\n`;
    assert.deepEqual(await getError("GET /nope?a=1"), [0, note("GET /nope")]);
    assert.deepEqual(await getError("GET /nope", true), [0, note("GET /nope")]);
    assert.deepEqual(await getError("POST /router/v1/clusters/"), [0, note("POST /router/v1/clusters/")]);
    assert.deepEqual(await getError("GET /nope --quiet"), [0, ""]);
    assert.deepEqual(await getError("GET /router/v1/clusters/"), [0, ""]);
    assert.deepEqual(await getError("GET /_emulator/clock"), [0, ""]);
  });

  it("does not report a forwarded request to a server that forwards nothing", async (t) => {
    const server = await startReceiver(t);
    server.respond(200);
    const { exit, stderr } = await runCli("api GET /nope", { env: { SVC_BASE_URL: server.url } });
    assert.deepEqual([exit, stderr], [0, "GET /nope is not an operation of the router\n"]);
  });
});
