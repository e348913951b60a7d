import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { svcVersion } from "../../src/base/version.ts";
import { runCli } from "../support/cli/run-cli.ts";

describe("svc help", () => {
  it("prints to standard output and exits with 0 for the program, a group, a command and -h", async () => {
    const root = await runCli("");
    assert.match(root.stdout, /^Usage: svc <group> <command>/);
    assert.deepEqual([root.exit, root.stderr], [0, ""]);
    for (const [argv, start] of [
      ["--help", "Usage: svc <group>"],
      ["contracts", "Usage: svc contracts <command>"],
      ["contracts status -h", "Usage: svc contracts status <composite-id> [options]"],
      ["contracts status T-1 --bogus --help", "Usage: svc contracts status"],
      ["--profile x contracts status -h", "Usage: svc contracts status"],
      ["help contracts status", "Usage: svc contracts status"],
      ["emulator clock advance -h", "Usage: svc emulator clock advance [options]"],
      ["emulator state", "Usage: svc emulator state <command>"],
    ] as const) {
      const { exit, stdout, stderr } = await runCli(argv);
      assert.deepEqual([exit, stdout.slice(0, start.length), stderr], [0, start, ""], argv);
    }
  });

  it("has pages for exit codes, environment and formats", async () => {
    assert.match((await runCli("help exit-codes")).stdout, /\n {2}75 +temporary/);
    assert.match((await runCli("help environment")).stdout, /SVC_BASE_URL/);
    assert.match((await runCli("help formats")).stdout, /--json=id,status/);
  });

  it("shows the flags of a command with their choices and valid examples", async () => {
    const { stdout } = await runCli("intake create --help");
    assert.match(stdout, /--priority <PRIORITY> +.*\(LOW, MEDIUM, HIGH; default: MEDIUM\)/);
    assert.match(stdout, /--title <TITLE> +.*\(required\)/);
    assert.match(stdout, /# Create a request with two files\n {2}svc intake create --title 'Review the MSA'/);
  });

  it("names the fields of the body that have no option", async () => {
    const create = (await runCli("contracts create --help")).stdout.replaceAll(/\s+/g, " ");
    const fields = "contract_data (required), counter_party_details (required), signatories, external_metadata,";
    assert.ok(create.includes(`address.city=Oslo. Fields without an option: ${fields}`), create);
    const mark = (await runCli("contracts mark --help")).stdout;
    assert.match(mark, /Set one field of the body: address\.city=Oslo \(may be repeated\)/);
  });

  it("prints the version with --version", async () => {
    assert.deepEqual(await runCli("--version"), { exit: 0, stdout: `${svcVersion}\n`, stderr: "" });
  });
});
