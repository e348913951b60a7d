import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runCli } from "../support/cli/run-cli.ts";

describe("svc help", () => {
  it("prints to standard output and exits with 0 for the program, a group, a command and -h", async () => {
    const root = await runCli("");
    assert.match(root.out, /^Usage: svc <group> <command>/);
    assert.deepEqual([root.exit, root.err], [0, ""]);
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
      const { exit, out, err } = await runCli(argv);
      assert.deepEqual([exit, out.slice(0, start.length), err], [0, start, ""], argv);
    }
  });

  it("has pages for exit codes, environment and formats", async () => {
    assert.match((await runCli("help exit-codes")).out, /\n {2}75 +temporary/);
    assert.match((await runCli("help environment")).out, /SVC_BASE_URL/);
    assert.match((await runCli("help formats")).out, /--json=id,status/);
  });

  it("shows the flags of a command with their choices and valid examples", async () => {
    const { out } = await runCli("intake create --help");
    assert.match(out, /--priority <PRIORITY> +.*\(LOW, MEDIUM, HIGH; default: MEDIUM\)/);
    assert.match(out, /--title <TITLE> +.*\(required\)/);
    assert.match(out, /# Create a request with two files\n {2}svc intake create --title 'Review the MSA'/);
  });

  it("prints the version with --version", async () => {
    assert.deepEqual(await runCli("--version"), { exit: 0, out: "0.0.0-test\n", err: "" });
  });
});
