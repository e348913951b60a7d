import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { hashEmail } from "../../src/base/email-address.ts";
import { startCliEmulator } from "../support/cli/cli-emulator.ts";

it("hashing produces the same digest from a file, the command line and a document", async (t) => {
  const { svc, json, cwd } = await startCliEmulator(t);
  await writeFile(join(cwd, "people.txt"), "Jo@acme.example\n");
  await writeFile(join(cwd, "body.json"), JSON.stringify({ email_hash_list: ["Ed@acme.example"] }));
  const to = "--cluster eu-1 --yes";
  for (const [address, from] of [
    ["jo@acme.example", "people.txt"],
    ["al@acme.example", "--email-hash-list Al@acme.example"],
    ["ed@acme.example", "--data body.json"],
  ] as const) {
    const result = await svc(`router map-emails ${from} ${to}`);
    assert.equal(result.exit, 0, result.stderr);
    const [owner] = await json<{ key: string; cluster_id: string }[]>(`router resolve ${address}`);
    assert.deepEqual([owner?.key, owner?.cluster_id], [hashEmail(address), "eu-1"], from);
    assert.equal((await json(`router show-email ${address.toUpperCase()}`)).cluster_id, "eu-1", from);
    const removed = await svc(`router unmap-emails ${from} ${to}`);
    assert.equal(removed.exit, 0, removed.stderr);
    assert.equal((await svc(`router resolve ${address}`)).exit, 5, from);
  }
  const neither = await svc(`router map-emails --email-hash-list jo ${to}`);
  assert.equal(neither.exit, 2);
  assert.match(neither.stderr, /^error: "jo" is neither an e-mail address nor a SHA-256 digest/);
});
