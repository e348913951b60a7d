import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { computeHmac } from "../../../src/base/hmac.ts";
import { startCliEmulator } from "../../support/cli/cli-emulator.ts";

it("svc webhooks hmac-key prints a valid key in every output format", async (t) => {
  const { svc, cwd, emulator } = await startCliEmulator(t);
  const key = emulator.clusters[0]!.hmacKey!;
  assert.equal((await svc("webhooks hmac-key")).stdout, `${key}\n`);

  const body = '{"contract_id":1}';
  await writeFile(join(cwd, "body.json"), body);
  const signature = computeHmac("sha512", Buffer.from(key, "base64"), body).toString("hex");
  const verify = `webhooks verify body.json --signature ${signature} --key-file key`;
  for (const format of ["", "--json", "--json=hmac_key", "--format csv", "--format tsv", "--format ndjson"]) {
    await writeFile(join(cwd, "key"), (await svc(`webhooks hmac-key ${format}`)).stdout);
    assert.deepEqual(await svc(verify), { exit: 0, stdout: "valid\n", stderr: "" }, format);
  }

  await writeFile(join(cwd, "key"), `my key: ${key}\n`);
  for (const command of ["verify", "explain"]) {
    const result = await svc(`webhooks ${command} body.json --signature ${signature} --key-file key`);
    assert.deepEqual([result.exit, result.stdout], [2, ""]);
    assert.match(
      result.stderr,
      /^error: --key-file: key: the key is not base64\. To print it, run svc webhooks hmac-key\.\n/,
    );
  }
});
