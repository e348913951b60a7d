import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import type { RunResult } from "../../support/cli/run-cli.ts";
import { hmacKey, startSignedReceiver } from "../../support/cli/signed-receiver.ts";
import { getProgramPath } from "../../support/program.ts";
import { startReceiver } from "../../support/receiver.ts";
import { getSvcPath } from "../../support/shipped.ts";

const raw = Buffer.from(hmacKey, "base64");
const body = '{"activity":"CONTRACT_SIGNED"}';

let program: ChildProcess;

/**
 * A folder with `hmac.key` and `body.json`, and `svc` with the scheme of test/support/cli/svc-made-up-scheme.ts in it.
 */
async function createMadeUpSchemeCli(t: TestContext) {
  const cwd = await createTestFolder(t);
  await writeFile(join(cwd, "hmac.key"), hmacKey);
  await writeFile(join(cwd, "body.json"), body);
  const env = { PATH: process.env.PATH, SVC_CONFIG_DIR: join(cwd, "config") };
  const svc = async (argv: string | readonly string[]): Promise<RunResult> => {
    program.send([argv, { cwd, env }]);
    return (await once(program, "message"))[0];
  };
  const explain = async (signature: string) => {
    await writeFile(join(cwd, "headers"), `x-made-up-time: 7\nx-made-up-signature: ${signature}\n`);
    return svc("webhooks explain body.json --headers headers --key-file hmac.key");
  };
  return { cwd, svc, explain };
}

describe("svc with a scheme that was added to the list of schemes", () => {
  before(() => {
    program = fork(getProgramPath("svc-made-up-scheme"), { execArgv: [] });
  });
  after(() => program.disconnect());

  it("signs with it, and verifies and explains its signatures", async (t) => {
    const { cwd, svc, explain } = await createMadeUpSchemeCli(t);
    const signed = await svc("webhooks sign body.json --as-header --key-file hmac.key");
    const [, time = "", signature] = /^X-Made-Up-Time: (\d+)\nX-Made-Up-Signature: (.*)\n$/.exec(signed.stdout) ?? [];
    const sign = (text: string, digest = "sha256", key: string | Buffer = raw) =>
      createHmac(digest, key).update(text).digest("base64");
    assert.equal(signature, `mu1=${sign(`${time}:${body}`)}`);
    await writeFile(join(cwd, "signed"), signed.stdout.toLowerCase().replace(/(signature: ).*/, `$1${signature}`));
    const verify = "webhooks verify body.json --headers signed --key-file hmac.key";
    assert.deepEqual(await svc(`${verify} --scheme made-up`), { exit: 0, stdout: "valid\n", stderr: "" });
    await writeFile(join(cwd, "signed"), "x-made-up-time: 7\nx-made-up-signature: mu1=AAAA\n");
    const rejected = await svc(verify);
    assert.deepEqual(
      [rejected.exit, rejected.stderr.split("\n")[0]],
      [1, "error: The signature is invalid: somebody made it up."],
    );
    const right = await explain(`mu1=${sign(`7:${body}`)}`);
    assert.deepEqual(right, { exit: 0, stdout: "The signature matches.\n", stderr: "" });
    for (const [signature, cause] of [
      [`mu1=${sign(`7:${body}`, "sha512")}`, "The algorithm was HMAC-SHA512. Use HMAC-SHA256."],
      [`mu1=${sign(body)}`, "Only the body was signed. The scheme also signs other headers."],
      [
        Buffer.from(sign(`7:${body}`), "base64").toString("hex"),
        'The signature is in hexadecimal. The header has "mu1=" and 44 base64 characters.',
      ],
    ] as const)
      assert.deepEqual(await explain(signature), {
        exit: 1,
        stdout: `The signature does not match. Causes:\n  - ${cause}\n`,
        stderr: "",
      });
  });

  it("certifies a receiver that verifies it, to which the emulator sends it", async (t) => {
    const { svc } = await createMadeUpSchemeCli(t);
    const hooks = await startReceiver(t);
    hooks.respond(({ headers, body: requestBody }, response) => {
      const text = `${headers["x-made-up-time"]}:${requestBody}`;
      const expected = `mu1=${createHmac("sha256", raw).update(text).digest("base64")}`;
      response.writeHead(headers["x-made-up-signature"] === expected ? 200 : 401).end();
    });
    const run = await svc(`webhooks certify --to ${hooks.url}/ --hmac-key-file hmac.key --json`);
    const { result, checks } = JSON.parse(run.stdout) as { result: string; checks: { id: string; result: string }[] };
    const failed = checks.filter((check) => !["passed", "not_checked"].includes(check.result));
    assert.deepEqual([run.exit, result, failed], [0, "passed", []]);
    assert.deepEqual(
      ["outage", "signature.sha512", "signature.hex"].map((id) => checks.find((check) => check.id === id)?.result),
      ["passed", "passed", "passed"],
    );
  });

  it("finds that a receiver verifies another scheme", async (t) => {
    const { svc } = await createMadeUpSchemeCli(t);
    const { url } = await startSignedReceiver(t);
    const run = await svc(`webhooks certify --to ${url} --hmac-key-file hmac.key --json`);
    assert.equal(run.exit, 1);
    const { findings } = JSON.parse(run.stdout) as { findings: { mistake: string; fix: string }[] };
    assert.deepEqual(
      findings.map(({ mistake, fix }) => [mistake, fix]),
      [
        [
          "header-case",
          "Check the key, read X-Made-Up-Signature case-insensitively, and compute the HMAC with the raw body.",
        ],
      ],
    );
  });

  it("signs the emulator's deliveries with it, and also with the service's own scheme on request", async (t) => {
    const { svc } = await createMadeUpSchemeCli(t);
    const hooks = await startReceiver(t);
    const again = `"${process.execPath}" "${getSvcPath()}" webhooks`;
    const only = "--only-for-activities CONTRACT_SIGNED";
    const script = `${again} create --title t --url ${hooks.url}/ ${only} && ${again} trigger CONTRACT_SIGNED && echo $SVC_WEBHOOK_HMAC_KEY`;
    const run = await svc(["emulator", "exec", "--webhook-headers", "content-hash", "--", "sh", "-c", script]);
    const key = Buffer.from(run.stdout.trim().split("\n").at(-1)!, "base64");
    const [{ headers, body: sent } = assert.fail(run.stderr)] = hooks.received;
    const text = `${headers["x-made-up-time"]}:${sent}`;
    assert.deepEqual(
      [headers["x-made-up-signature"], headers["x-svc-webhook-content-hash"]],
      [
        `mu1=${createHmac("sha256", key).update(text).digest("base64")}`,
        createHmac("sha512", key).update(sent).digest("hex"),
      ],
    );
  });
});
