import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { createTestFolder } from "../support/cli/cli-emulator.ts";
import { runCli } from "../support/cli/run-cli.ts";

describe("input that is not UTF-8", () => {
  const text = '{"contract_name":"Café"}';
  const toHint = (encoding: string) => `  Convert it to UTF-8. From ${encoding}: iconv -f ${encoding} -t UTF-8 FILE\n`;
  const help = "  See svc contracts create --help.\n";
  for (const [label, bytes, hint] of [
    ["Windows-1252", Buffer.from(text, "latin1"), toHint("WINDOWS-1252")],
    ["UTF-16 with a byte order mark", Buffer.from(`\ufeff${text}`, "utf16le"), toHint("UTF-16")],
    ["UTF-16 without a byte order mark", Buffer.from(text, "utf16le"), toHint("UTF-16LE")],
    ["a compressed file", gzipSync(text), help],
  ] as const) {
    it(`is rejected as a document, instead of replaced characters: ${label}`, async (t) => {
      const cwd = await createTestFolder(t);
      await writeFile(join(cwd, "nda.json"), bytes);
      const { exit, stderr } = await runCli("contracts create --emulator --data ./nda.json", { cwd });
      assert.deepEqual([exit, stderr], [2, `error: --data: ./nda.json is not UTF-8\n${hint}`]);
    });
  }

  it("is rejected as a secret", async (t) => {
    const cwd = await createTestFolder(t);
    await writeFile(join(cwd, "secret"), Buffer.from("clé", "latin1"));
    const argv = "config set client_secret --profile staging --secret-file secret";
    const { exit, stderr } = await runCli(argv, { cwd, env: { SVC_CONFIG_DIR: join(cwd, "config") } });
    assert.deepEqual([exit, stderr.split("\n")[0]], [2, "error: --secret-file: secret is not UTF-8"]);
  });
});
