import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { exitCodes } from "../../src/cli/process/exit.ts";
import { loadAllCommands } from "../support/cli/all-commands.ts";
import { runCli } from "../support/cli/run-cli.ts";
import { hasProgram } from "../support/cli/terminal.ts";

const commands = await loadAllCommands();

describe("svc help --json", () => {
  it("describes the whole command line as data", async () => {
    const { exit, stdout, stderr } = await runCli("help --json");
    const manifest = JSON.parse(stdout);
    assert.deepEqual([exit, stderr, manifest.name, manifest.exit_codes], [0, "", "svc", exitCodes]);
    assert.deepEqual(
      manifest.commands.map(({ command }: { command: string }) => command),
      commands.map(({ words }) => words.join(" ")),
    );
  });

  it("describes a command in the same way as its help page", async () => {
    const { commands: entries } = JSON.parse((await runCli("help --json")).stdout);
    const status = entries.find(({ command }: { command: string }) => command === "contracts status");
    assert.deepEqual(status, {
      command: "contracts status",
      summary: "Show a contract's status",
      positionals: status.positionals,
      flags: [
        {
          flag: "exit-status",
          type: "switch",
          description: "Exit 8 while the contract can be executed, and 1 if it cannot",
        },
        {
          flag: "enforce-user-scoping",
          type: "text",
          description: "true: only a contract that the acting user is involved in (assumed)",
          in: "headers",
        },
      ],
      examples: [
        {
          title: "Continue only when everyone has signed",
          argv: ["svc", "contracts", "status", "T-1", "--exit-status"],
        },
        { title: "Show the status of a contract", argv: ["svc", "contracts", "status", "T-1"] },
      ],
      operation: "contracts.status",
      service: "contracts",
      method: "GET",
      path: "/api/v2.1/public/contracts/{composite_id}/status",
      fields: ["contract_status", "contract_name"],
      response: "json",
    });
  });
});

describe("manual page", () => {
  it("lists every command with its purpose, every flag and every exit code", async () => {
    const { exit, stdout } = await runCli("help --man");
    const text = stdout.replaceAll("\\-", "-");
    assert.equal(exit, 0);
    assert.match(text, /^\.TH SVC 1 /);
    const missing = commands.flatMap(({ words, flags, description = "" }) => [
      ...(text.includes(`\\fBsvc ${words.join(" ")}\\fR`) ? [] : [words.join(" ")]),
      // The manual page replaces non-ASCII characters, so the comparison ends at the first of them.
      ...(text.includes(description.split(/[^\x20-\x7e]/, 1)[0]!) ? [] : [description]),
      ...flags
        .filter(({ flag }) => ![`--${flag}`, `--[no-]${flag}`].some((name) => text.includes(name)))
        .map(({ flag }) => flag),
    ]);
    assert.deepEqual(missing, []);
    for (const { code } of exitCodes) assert.ok(text.includes(`\\fB${code}\\fR`), String(code));
  });

  it("says of an option and an argument what --help says", async () => {
    const { stdout } = await runCli("help --man");
    const text = stdout.replaceAll("\\-", "-");
    for (const item of [
      "--attachment-formats <FORMATS>\\fR\nAttach the document in these formats (DOCX, PDF, TEMPLATE; may be repeated, or A,B)",
      "--contract-template-id <N>\\fR\nTemplate of the workspace that can be signed (required)",
      "--email-hash-list <LIST>\\fR\nE-mail hashes (required without file; may be repeated)",
      "--[no-]is-executed-version\\fR\nThe version is signed by all parties (default: false)",
      "<composite-id>\\fR\nComposite ID of the contract: T-12 or H-12",
    ]) {
      assert.ok(text.includes(`.TP\n\\fB${item}\n`), item);
    }
  });

  it("contains no text that the formatter treats as a request", async () => {
    const { stdout } = await runCli("help --man");
    const requests = new Set(
      stdout
        .split("\n")
        .filter((line) => /^[.']/.test(line))
        .map((line) => line.split(" ")[0]),
    );
    assert.deepEqual([...requests].sort(), [".B", ".PP", ".RE", ".RS", ".SH", ".SS", ".TH", ".TP", ".ad", ".nh"]);
  });

  it("formats with groff without warnings", {
    skip: hasProgram("groff") ? false : "groff is not installed",
  }, async () => {
    const { stdout: page } = await runCli("help --man");
    const { status, stderr, stdout } = spawnSync("groff", ["-man", "-Tutf8", "-ww"], { input: page, encoding: "utf8" });
    assert.deepEqual([status, stderr, stdout.includes("device-login")], [0, "", true]);
  });
});

describe("help topics", () => {
  for (const [topic, expected] of [
    ["exit-codes", /75 +temporary/],
    ["environment", /SVC_OAUTH_CLIENT_ID/],
    ["formats", /--format ndjson/],
  ] as const) {
    it(`describes ${topic}`, async () => {
      const { exit, stdout } = await runCli(["help", topic]);
      assert.equal(exit, 0);
      assert.match(stdout, expected);
    });
  }
});
