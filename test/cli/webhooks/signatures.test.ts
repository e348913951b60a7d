import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { standardWebhookHeaders } from "../../../src/schemes/webhook.ts";
import { createTestFolder, startCliEmulator } from "../../support/cli/cli-emulator.ts";
import { runCli } from "../../support/cli/run-cli.ts";
import { startReceiver } from "../../support/receiver.ts";

// Created with OpenSSL, independently of the package (DECISIONS.md, P19).
const key = Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString("base64");
const body = '{"event":"CONTRACT_CREATED","contract_id":"A-1"}';
const signature =
  "9c437e6e89e8e2d26792d3a43f63923d66697fe150f06a1dc453a29abe1a2e23e278cd7314af7adf92ff879f9ee07fba6bf09a3695ba9af627ddd8134ee0e4a9";
const env = { SVC_WEBHOOK_HMAC_KEY: key };

describe("svc webhooks sign", () => {
  it("prints the header value for a body from stdin or a file", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "body"), body);
    await writeFile(join(cwd, "key"), `${key}\n`);
    assert.deepEqual(await runCli("webhooks sign -", { env, stdin: body }), {
      exit: 0,
      stdout: `${signature}\n`,
      stderr: "",
    });
    const header = await runCli("webhooks sign body --key-file key --as-header", { cwd });
    assert.equal(header.stdout, `X-SVC-WEBHOOK-CONTENT-HASH: ${signature}\n`);
    assert.equal(
      (await runCli("webhooks sign body --fields header", { cwd, env })).stdout,
      `${header.stdout.split(":")[0]}\n`,
    );
    const { stdout } = await runCli("webhooks sign body --json", { cwd, env });
    assert.deepEqual(JSON.parse(stdout), { header: "X-SVC-WEBHOOK-CONTENT-HASH", signature });
  });

  for (const [argv, more, message] of [
    ["webhooks sign -", {}, "--key-file or SVC_WEBHOOK_HMAC_KEY is required"],
    ["webhooks sign -", { SVC_WEBHOOK_HMAC_KEY: "not base64!" }, "the key is not base64"],
    ["webhooks sign nowhere", env, "cannot read nowhere: no such file"],
    ["webhooks sign . --key-file .", env, "is a folder, not a file"],
    ["webhooks sign", env, "<body> is required"],
  ] as const) {
    it(`exits 2 for ${argv} with a key of ${Object.values(more)[0]?.length ?? 0} characters: ${message}`, async (t) => {
      const { exit, stdout, stderr } = await runCli(argv, { cwd: await createTestFolder(t), env: more, stdin: body });
      assert.deepEqual([exit, stdout, stderr.includes(message)], [2, "", true], stderr);
      assert(!stderr.includes("not base64!"), "the key stands in the message");
    });
  }
});

describe("svc webhooks verify", () => {
  it("finds the signature in an adjacent or a given headers file", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "0001-X.json"), body);
    await writeFile(
      join(cwd, "0001-X.headers"),
      `content-type: application/json\nx-svc-webhook-content-hash: ${signature}\n`,
    );
    assert.equal((await runCli("webhooks verify 0001-X.json", { cwd, env })).stdout, "valid\n");
    await writeFile(join(cwd, "others"), `X-Svc-Webhook-Content-Hash: ${signature}\r\n`);
    assert.equal((await runCli("webhooks verify - --headers others", { cwd, env, stdin: body })).stdout, "valid\n");
    await writeFile(join(cwd, "none"), "content-type: application/json\n");
    const missing = await runCli("webhooks verify - --headers none --json", { cwd, env, stdin: body });
    assert.deepEqual([missing.exit, JSON.parse(missing.stderr).error.code], [1, "missing"]);
  });

  it("exits 1 and explains a changed body or a malformed signature", async () => {
    const cases = [
      [signature, `${body}\n`, "mismatch"],
      [signature.toUpperCase(), body, "malformed"],
    ] as const;
    for (const [signature, bytes, code] of cases) {
      const argv = ["webhooks", "verify", "-", "--signature", signature, "--json"];
      const { exit, stdout, stderr } = await runCli(argv, { env, stdin: bytes });
      assert.deepEqual([exit, stdout, JSON.parse(stderr).error.code], [1, "", code]);
    }
  });

  it("suggests the command that diagnoses the mismatch", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "body.json"), `${body}\n`);
    const { exit, stderr } = await runCli(["webhooks", "verify", "body.json", "--signature", signature], { cwd, env });
    assert.deepEqual(
      [exit, stderr.split("\n").at(-2)],
      [1, `  try: svc webhooks explain body.json --signature ${signature}`],
    );
  });

  it("reports a missing signature before any other error, with exit 2", async () => {
    const { exit, stderr } = await runCli("webhooks verify -", { env, stdin: body });
    assert.deepEqual([exit, stderr.includes("--signature is required")], [2, true]);
  });

  it("verifies Standard Webhooks signatures and detects an old timestamp", async (t) => {
    const cwd = await createTestFolder(t);
    const signAt = (seconds: number) =>
      standardWebhookHeaders({ secret: key, id: "msg_1", timestamp: String(seconds), body });
    const text = (headers: object) =>
      Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\n`)
        .join("");
    const now = Math.floor(Date.now() / 1_000);
    await writeFile(join(cwd, "fresh"), text(signAt(now)));
    await writeFile(join(cwd, "old"), text(signAt(now - 301)));
    const run = (verb: string, headers: string) =>
      runCli(`webhooks ${verb} - --headers ${headers}`, { cwd, env, stdin: body });
    for (const verb of ["verify", "verify --scheme standard"]) {
      assert.deepEqual(await run(verb, "fresh"), { exit: 0, stdout: "valid\n", stderr: "" });
      const old = await run(verb, "old");
      const reason = "its timestamp differs from the current time by more than 5 minutes";
      assert.deepEqual([old.exit, old.stderr.split("\n")[0]], [1, `error: The signature is invalid: ${reason}.`]);
      assert.deepEqual(await run("explain", "old"), {
        exit: 1,
        stdout: `The signature matches, but ${reason}.\n`,
        stderr: "",
      });
    }
    assert.equal((await run("explain", "fresh")).stdout, "The signature matches.\n");
    await writeFile(join(cwd, "other"), text({ ...signAt(now), "webhook-signature": `v1,${"A".repeat(43)}=` }));
    const other = await run("explain", "other");
    assert.match(other.stdout, /The key may belong to another workspace/);
  });
});

describe("svc webhooks replay --sign", () => {
  it("replaces all signatures, because those of the saved headers do not match an edited body", async (t) => {
    const cwd = await createTestFolder(t);
    const receiver = await startReceiver(t);
    await writeFile(join(cwd, "body.json"), body);
    const saved = { "x-svc-webhook-content-hash": "00", "webhook-id": "1", "webhook-timestamp": "2", "x-mine": "3" };
    const lines = Object.entries({ ...saved, "webhook-signature": "v1,AAAA" }).map((line) => line.join(": "));
    await writeFile(join(cwd, "body.headers"), lines.join("\n"));
    const { exit, stderr } = await runCli(`webhooks replay body.json --sign --to ${receiver.url}`, { cwd, env });
    assert.equal(exit, 0, stderr);
    const names = /^(x-|webhook-)/;
    const headers = Object.entries(receiver.received[0]!.headers).filter(([name]) => names.test(name));
    assert.deepEqual(Object.fromEntries(headers), { "x-svc-webhook-content-hash": signature, "x-mine": "3" });
  });
});

describe("svc webhooks explain", () => {
  it("names the emulator's workspace whose key created the signature", async (t) => {
    const { json, svc } = await startCliEmulator(t);
    const [, workspace] =
      await json<{ id: number; name: string; cluster_id: string; hmac_key: string }[]>("emulator workspaces");
    const signed = createHmac("sha512", Buffer.from(workspace!.hmac_key, "base64")).update(body).digest("hex");
    const argv = ["webhooks", "explain", "-", "--signature", signed];
    const { exit, stdout } = await svc(argv, { stdin: body });
    assert.deepEqual(
      [exit, stdout],
      [
        1,
        `The signature does not match. Causes:\n  - The body was signed with the key of workspace ${workspace!.id}, "${workspace!.name}" of ${workspace!.cluster_id}. To see that key, run svc emulator workspaces --json.\n`,
      ],
    );
    const withoutWorkspace = await runCli(argv, { env, stdin: body, cwd: await createTestFolder(t) });
    assert.match(withoutWorkspace.stdout, /The key may belong to another workspace/);
  });

  it("does not claim which side serialized the JSON again", async () => {
    const { stdout: signed } = await runCli("webhooks sign -", { env, stdin: '{"id": 1}' });
    const { stdout } = await runCli(`webhooks explain - --signature ${signed.trim()}`, { env, stdin: '{"id":1}' });
    assert.equal(
      stdout,
      "The signature does not match. Causes:\n  - The JSON was signed in another form (with spaces after : and ,). " +
        "Sign and verify the raw bytes, before any parsing.\n",
    );
  });

  for (const verb of ["verify", "explain", "verify --scheme standard"]) {
    it(`reports a missing body file before any other error in svc webhooks ${verb}`, async (t) => {
      const { exit, stderr } = await runCli(`webhooks ${verb} nosuch.json`, { cwd: await createTestFolder(t) });
      assert.deepEqual([exit, stderr.split("\n")[0]], [2, "error: <body>: cannot read nosuch.json: no such file"]);
    });
  }

  const sha512 = (k: string | Buffer, text: string) => createHmac("sha512", k).update(text);
  const raw = Buffer.from(key, "base64");
  const utf8 = '{"name": "Zoë", "n": 1}\n';
  const cases: readonly (readonly [label: string, body: string, signature: string, codes: string[]])[] = [
    ["an undecoded key", body, sha512(key, body).digest("hex"), ["key-not-decoded"]],
    ["an undecoded key with a newline", body, sha512(`${key}\n`, body).digest("hex"), ["key-with-newline"]],
    ["base64 instead of hexadecimal", body, sha512(raw, body).digest("base64"), ["base64-signature"]],
    ["upper-case digits", body, signature.toUpperCase(), ["upper-case"]],
    ["a prefix", body, `sha512=${signature}`, ["signature-dressed"]],
    ["another algorithm", body, createHmac("sha256", raw).update(body).digest("hex"), ["hmac-sha256"]],
    ["a trimmed newline", utf8, sha512(raw, utf8.trim()).digest("hex"), ["newline-trimmed"]],
    ["a missing newline", body, sha512(raw, `${body}\n`).digest("hex"), ["newline-added"]],
    ["compact JSON", utf8, sha512(raw, JSON.stringify(JSON.parse(utf8))).digest("hex"), ["json-compact"]],
    [
      "JSON in Python format",
      body,
      sha512(raw, '{"event": "CONTRACT_CREATED", "contract_id": "A-1"}').digest("hex"),
      ["json-spaced"],
    ],
    [
      "JSON in Python format with escapes",
      utf8,
      sha512(raw, '{"name": "Zo\\u00eb", "n": 1}').digest("hex"),
      ["json-spaced-ascii"],
    ],
    ["an empty body", body, sha512(raw, "").digest("hex"), ["empty"]],
    [
      "two mistakes at once",
      utf8,
      sha512(key, JSON.stringify(JSON.parse(utf8))).digest("base64"),
      ["key-not-decoded", "json-compact", "base64-signature"],
    ],
  ];
  for (const [label, input, sign, codes] of cases) {
    it(`detects ${label}`, async () => {
      const { exit, stdout } = await runCli(["webhooks", "explain", "-", "--signature", sign, "--json"], {
        env,
        stdin: input,
      });
      const { valid, explained, deviations } = JSON.parse(stdout) as {
        valid: boolean;
        explained: boolean;
        deviations: { code: string }[];
      };
      assert.deepEqual([exit, valid, explained, deviations.map(({ code }) => code)], [1, false, true, codes]);
    });
  }

  it("explains the mistake without printing the key", async () => {
    const argv = ["webhooks", "explain", "-", "--signature", sha512(key, body).digest("hex")];
    assert.deepEqual(await runCli(argv, { env, stdin: body }), {
      exit: 1,
      stdout:
        "The signature does not match. Causes:\n  - The key was used without decoding. Decode it as base64 first.\n",
      stderr: "",
    });
  });

  it("exits 0 for a match and 1 for an unexplained mismatch", async () => {
    const good = await runCli(["webhooks", "explain", "-", "--signature", signature], { env, stdin: body });
    assert.deepEqual([good.exit, good.stdout], [0, "The signature matches.\n"]);
    const result = await runCli(["webhooks", "explain", "-", "--signature", "ab".repeat(64)], { env, stdin: body });
    assert.equal(result.exit, 1);
    assert.match(
      result.stdout,
      /None of \d{3,} common mistakes explains it\.\nThe key may belong to another workspace/,
    );
  });
});

describe("svc webhooks explain for a malformed signature", () => {
  for (const [signatureText, reason] of [
    ["xyz", "it has 3 characters"],
    ["ab".repeat(32), "it has 64 characters"],
    [Buffer.alloc(32, 7).toString("base64"), "it has 44 characters"],
    ["", "it is empty"],
    [`${signature.slice(0, 40)} ${signature.slice(41)}`, '" " at character 41 is not allowed'],
  ] as const) {
    it(`reports that ${reason}`, async () => {
      const { exit, stdout } = await runCli(["webhooks", "explain", "-", "--signature", signatureText], {
        env,
        stdin: body,
      });
      const last = `It is malformed: ${reason}. X-SVC-WEBHOOK-CONTENT-HASH has 128 lower-case hexadecimal digits (HMAC-SHA512).`;
      assert.deepEqual([exit, stdout.trimEnd().split("\n").at(-1)], [1, last]);
    });
  }

  it("recognizes an HMAC-SHA256 signature made with the same key", async () => {
    const signature = createHmac("sha256", Buffer.from(key, "base64")).update(body).digest("hex");
    const { exit, stdout } = await runCli(["webhooks", "explain", "-", "--signature", signature], { env, stdin: body });
    assert.deepEqual([exit, /The algorithm was HMAC-SHA256\. Use HMAC-SHA512/.test(stdout)], [1, true], stdout);
  });
});
