import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { Webhook } from "standardwebhooks";
import type { EmulatorOptions } from "../../emulator/index.ts";
import { extractCodeBlocks } from "../support/cli/pages.ts";
import { createDraftContract } from "../support/contracts.ts";
import { startTestEmulator } from "../support/emulator.ts";
import { type ReceivedRequest, startReceiver } from "../support/receiver.ts";

const header = "x-svc-webhook-content-hash";

/** The received webhook for a contract with a non-ASCII name, and the workspace's key in base64. */
async function receiveDelivery(
  t: TestContext,
  options: EmulatorOptions = {},
): Promise<ReceivedRequest & { readonly key: string }> {
  const { api, control, clusters } = await startTestEmulator(t, options);
  const target = await startReceiver(t);
  await api("POST", "/api/v2.1/public/webhooks/", {
    body: { title: "test", url: target.url, only_for_activities: ["CONTRACT_CREATED"] },
  });
  await createDraftContract(api, { contract_name: 'Ümläut – 契約 \u{1f4dc} "quoted"' });
  await control("POST", "clock/advance", { body: { by: "PT1S" } });
  assert.equal(target.received.length, 1);
  return { ...target.received[0]!, key: clusters[0]!.hmacKey! };
}

/** The body with one byte changed. */
const changeBody = (body: Buffer): Buffer =>
  Buffer.from(body.toString("latin1").replace("CREATED", "CREATEd"), "latin1");

/** The reason to skip a test if a program is missing. */
const checkMissingProgram = (program: string): string | false =>
  spawnSync(program, ["--version"]).status === 0 ? false : `${program} is not installed`;

/** OpenSSL before version 3 supports only `version`. */
const opensslSkipReason = spawnSync("openssl", ["version"]).status === 0 ? false : "openssl is not installed";

describe("webhook signature", () => {
  it("equals the signature computed by OpenSSL", { skip: opensslSkipReason }, async (t) => {
    const { body, headers, key } = await receiveDelivery(t);
    const openssl = async (bytes: Buffer) => {
      const folder = await mkdtemp(join(tmpdir(), "svc-openssl-"));
      t.after(() => rm(folder, { recursive: true, force: true }));
      await writeFile(join(folder, "body"), bytes);
      const hex = Buffer.from(key, "base64").toString("hex");
      const mac = ["-sha512", "-mac", "HMAC", "-macopt", `hexkey:${hex}`, join(folder, "body")];
      return execFileSync("openssl", ["dgst", ...mac], { encoding: "utf8" })
        .split("= ")[1]
        ?.trim();
    };
    assert.equal(await openssl(body), headers[header]);
    assert.notEqual(await openssl(changeBody(body)), headers[header]);
  });

  it("equals the signature of the Python example in docs/webhooks.md", {
    skip: checkMissingProgram("python3"),
  }, async (t) => {
    const { body, headers, key } = await receiveDelivery(t);
    const [lines] = extractCodeBlocks("docs/webhooks.md", "python");
    const program = `import json, sys\n${lines}print(is_genuine(sys.stdin.buffer.read(), json.loads(sys.argv[2]), sys.argv[1]))`;
    const python = (bytes: Buffer, signature: string | null = String(headers[header])) =>
      execFileSync("python3", ["-c", program, key, JSON.stringify(signature)], {
        input: bytes,
        encoding: "utf8",
      }).trim();
    assert.equal(python(body), "True");
    assert.equal(python(changeBody(body)), "False");
    // A missing or malformed header is an unauthenticated request, not an error.
    for (const signature of [null, "", "ü契", "\ud800", "a".repeat(128)])
      assert.equal(python(body, signature), "False");
  });

  it("is verified by WebCrypto", async (t) => {
    const { body, headers, key } = await receiveDelivery(t);
    const algorithm = { name: "HMAC", hash: "SHA-512" };
    const imported = await crypto.subtle.importKey("raw", Buffer.from(key, "base64"), algorithm, false, ["verify"]);
    const signature = Buffer.from(String(headers[header]), "hex");
    assert.equal(await crypto.subtle.verify("HMAC", imported, signature, body), true);
    assert.equal(await crypto.subtle.verify("HMAC", imported, signature, changeBody(body)), false);
  });
});

describe("standardwebhooks library with opt-in headers", () => {
  // The library measures its tolerance by the machine's clock, which is years from virtual time.
  const options = { webhookSchemes: ["standard"] } as const;

  it("verifies the headers and returns the payload", async (t) => {
    const { body, headers, key } = await receiveDelivery(t, options);
    const payload = new Webhook(key).verify(body, pickStandardHeaders(headers)) as { activity: string };
    assert.equal(payload.activity, "CONTRACT_CREATED");
  });

  it("rejects other bytes, another ID and another key", async (t) => {
    const { body, headers, key } = await receiveDelivery(t, options);
    const signatureHeaders = pickStandardHeaders(headers);
    const message = /No matching signature found/;
    assert.throws(() => new Webhook(key).verify(changeBody(body), signatureHeaders), message);
    assert.throws(() => new Webhook(key).verify(body, { ...signatureHeaders, "webhook-id": "msg_0" }), message);
    const otherKey = Buffer.alloc(64, 1).toString("base64");
    assert.throws(() => new Webhook(otherKey).verify(body, signatureHeaders), message);
  });

  it("receives no headers without --webhook-headers standard", async (t) => {
    const { headers } = await receiveDelivery(t);
    assert.deepEqual(
      Object.keys(headers).filter((name) => name.startsWith("webhook-")),
      [],
    );
  });
});

const pickStandardHeaders = (headers: ReceivedRequest["headers"]): Record<string, string> =>
  Object.fromEntries(
    ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [name, String(headers[name])]),
  );
