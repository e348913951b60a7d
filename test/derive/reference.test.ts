import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as z from "zod";
import { defineOperation, empty, json } from "../../src/api/operation.ts";
import { registry } from "../../src/api/registry.ts";
import { contracts } from "../../src/api/services.ts";
import { globalFlags } from "../../src/cli/parse/globals.ts";
import { exitCodes } from "../../src/cli/process/exit.ts";
import type { CommandDeclaration } from "../../src/derive/command-spec.ts";
import { deriveCommand } from "../../src/derive/commands.ts";
import { renderReference } from "../../src/derive/reference.ts";
import { loadAllCommands } from "../support/cli/all-commands.ts";
import { assertGolden } from "../support/golden.ts";

const common = {
  service: contracts,
  auth: "api-key",
  failures: ["not-found"],
  basis: "specified",
  examples: [],
} as const;

const operation = defineOperation({
  ...common,
  id: "things.send",
  summary: "Send a thing",
  description: "Once | only.",
  method: "POST",
  path: "/things/{thing_id}",
  request: { params: z.object({ thing_id: z.int() }), body: json(z.object({ note: z.string().describe("What for") })) },
  responses: { 201: json(z.strictObject({ id: z.int() })) },
  emits: ["CONTRACT_CREATED"],
  cli: { command: "things send" },
  basis: { assumed: "The specification is silent." },
});

const handWrittenOne = defineOperation({
  ...common,
  id: "things.upload",
  summary: "Upload a thing",
  method: "PUT",
  path: "/things",
  request: {},
  responses: { 204: empty() },
  cli: { by: "things upload" },
});

const createCommand = (name: string): CommandDeclaration => ({
  words: name.split(" "),
  summary: `Do ${name}`,
  positionals: [{ name: "path", description: "Files", variadic: true, optional: true }],
  flags: [{ flag: "mode", type: "text", choices: ["a|b", "c"], description: "How", required: true, default: "c" }],
  examples: [],
});

const page = renderReference({
  registry: [operation, handWrittenOne],
  commands: [deriveCommand(operation, "contracts/files"), createCommand("things upload"), createCommand("tour")],
  globalFlags: [{ flag: "json", type: "switch", description: "One document" }],
  exitCodes: [{ code: 75, meaning: "unreachable" }],
});
const getSection = (heading: string) => page.split(`${heading}\n\n`)[1]?.split(/\n\n#/)[0];

describe("reference page", () => {
  it("shows an operation with its derived command and flags", () =>
    assert.equal(
      getSection("### things.send"),
      [
        "Send a thing. Once | only.",
        "",
        "- Route: `POST /things/{thing_id}`",
        "- Credentials: api-key",
        "- Responses: 201 (json)",
        "- Failures: `not-found`",
        "- Emits: `CONTRACT_CREATED`",
        "- Basis: assumed: The specification is silent.",
        "",
        "`svc things send THING_ID [flags]`",
        "",
        "| Flag | Value | Meaning |",
        "|---|---|---|",
        "| `--note` | text | What for; required |",
        "| `--data` | FILE\\|- | Read the whole body from a JSON file or standard input |",
        "| `--set` | PATH=VALUE | Set one field of the body: address.city=Oslo; repeatable |",
        "| `--dry-run` |  | Print the request without sending it |",
      ].join("\n"),
    ));

  it("shows a hand-written command with or without an operation", () => {
    const usageLine = "`svc things upload [PATH…] [flags]`";
    assert.equal(getSection("### things.upload")?.split("\n").includes(usageLine), true);
    assert.equal(page.split(usageLine).length, 2);
    assert.equal(
      getSection("### tour"),
      [
        "Do tour.",
        "",
        "`svc tour [PATH…] [flags]`",
        "",
        "| Flag | Value | Meaning |",
        "|---|---|---|",
        "| `--mode` | `a\\|b`, `c` | How; required; default: c |",
      ].join("\n"),
    );
  });

  it("lists the causes of each activity", () =>
    assert.match(getSection("### Contract lifecycle") ?? "", /\| `CONTRACT_CREATED` \| `things.send` \|/));

  it("lists each lifecycle transition, without an arrow if the status is unchanged", () => {
    const lifecycle = getSection("## Lifecycle of a contract") ?? "";
    assert.match(lifecycle, /^ {4}SIGN --> EXECUTED: all-signed$/m);
    assert.match(lifecycle, /^ {4}\[\*\] --> DRAFT: create-from-template$/m);
    assert.doesNotMatch(lifecycle, /: sign$/m);
    assert.match(lifecycle, /^\| void \| EXECUTED \|.*rejected: cannot-void-executed/m);
  });

  it("lists the flags of every command once", () =>
    assert.equal(getSection("## Flags of every command")?.split("\n").at(-1), "| `--json` |  | One document |"));

  it("lists the given exit codes", () =>
    assert.equal(getSection("## Exit codes"), "| Code | Meaning |\n|---|---|\n| 75 | unreachable |\n"));

  it("equals docs/reference.md", async () =>
    assertGolden(
      "docs/reference.md",
      renderReference({ registry, commands: await loadAllCommands(), globalFlags, exitCodes }),
    ));
});
