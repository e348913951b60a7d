import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { globalFlags } from "../../../src/cli/parse/globals.ts";
import type { CommandDeclaration } from "../../../src/derive/command-spec.ts";
import { loadAllCommands } from "../../support/cli/all-commands.ts";
import { credentials, getCommandName } from "../../support/cli/command-lines.ts";
import { findJsonErrorDefect, findTextErrorDefect } from "../../support/cli/error-defects.ts";
import { findFailingCases, formatRunResult } from "../../support/cli/failing-cases.ts";
import { getNoRetryFlags } from "../../support/cli/prepared-lines.ts";
import { runCli } from "../../support/cli/run-cli.ts";

const everywhere = await loadAllCommands();
/** Commands whose input comes from a page or an export, so no example runs as written. */
const commandsWithoutExample = new Set([
  "emulator console asset",
  "emulator device-form",
  "emulator provider-form",
  "emulator state import",
]);
const nowhere = ["--base-url", "http://127.0.0.1:1", "--yes"];

/** Valid positionals, as far as they are checked first. */
const createPositionals = ({ positionals }: CommandDeclaration): string[] =>
  positionals.map(({ name, choices, type }) => choices?.[0] ?? (type === "integer" ? "1" : name));

const run = (argv: readonly string[]) => runCli([...argv, ...nowhere, ...getNoRetryFlags(argv)], { env: credentials });

describe("command with an invalid command line", () => {
  it("rejects an unknown flag with exit 2, as text and as JSON", async () => {
    const expected = { exit: 2, message: /no-such-flag/ };
    const failures = await findFailingCases(
      everywhere,
      getCommandName,
      async ({ words }) =>
        findTextErrorDefect(await run([...words, "--no-such-flag"]), expected) ??
        findJsonErrorDefect(await run([...words, "--no-such-flag", "--json"]), expected),
    );
    assert.deepEqual(failures, {});
  });

  it("reports missing input with exit 2, as text and as JSON", async () => {
    const needy = everywhere.filter(
      ({ positionals, flags }) =>
        [...positionals.filter(({ optional }) => !optional), ...flags.filter(({ required }) => required)].length > 0,
    );
    assert.ok(needy.length > 100, String(needy.length));
    const expected = { exit: 2, message: /required/ };
    const failures = await findFailingCases(
      needy,
      getCommandName,
      async ({ words }) =>
        findTextErrorDefect(await run(words), expected) ??
        findJsonErrorDefect(await run([...words, "--json"]), expected),
    );
    assert.deepEqual(failures, {});
  });

  it("rejects an extra argument with exit 2", async () => {
    const fixed = everywhere.filter(({ positionals }) => !positionals.some(({ variadic }) => variadic));
    const failures = await findFailingCases(fixed, getCommandName, async (command) =>
      findTextErrorDefect(await run([...command.words, ...createPositionals(command), "one-too-many"]), {
        exit: 2,
        // A group that is also a command parses the word as a subcommand.
        message: /too many arguments|unknown command/,
      }),
    );
    assert.deepEqual(failures, {});
  });

  it("rejects an invalid value of a flag with exit 2 and names the flag", async () => {
    const cases = everywhere.flatMap((command) =>
      command.flags
        .filter(({ choices, type }) => choices || type === "integer" || type === "number")
        .map(({ flag }) => ({ command, flag })),
    );
    assert.ok(cases.length > 80, String(cases.length));
    const failures = await findFailingCases(
      cases,
      ({ command, flag }) => `${getCommandName(command)} --${flag}`,
      async ({ command, flag }) =>
        // The flag precedes the positionals, because exec forwards later flags to its command.
        findTextErrorDefect(await run([...command.words, `--${flag}`, "nonsense", ...createPositionals(command)]), {
          exit: 2,
          message: new RegExp(`--${flag}\\b.*nonsense`),
        }),
    );
    assert.deepEqual(failures, {});
  });

  it("rejects an invalid value of a global flag with exit 2 and names the flag", async () => {
    const free = new Set(["fields", "profile"]);
    const cases = globalFlags.filter(({ type, flag }) => type !== "switch" && type !== "boolean" && !free.has(flag));
    const failures = await findFailingCases(
      cases,
      ({ flag }) => flag,
      async ({ flag }) =>
        findTextErrorDefect(await runCli(["router", "health", `--${flag}`, "nonsense"]), {
          exit: 2,
          message: new RegExp(`--${flag}\\b.*nonsense`),
        }),
    );
    assert.deepEqual(failures, {});
  });

  it("prints a help page with an example and exits with 0", async () => {
    const failures = await findFailingCases(everywhere, getCommandName, async ({ words, positionals, summary }) => {
      const { exit, stdout, stderr } = await runCli([...words, "--help"]);
      const usage = `Usage: svc ${words.join(" ")}`;
      const isWhole =
        stdout.startsWith(usage) &&
        stdout.includes(summary) &&
        (stdout.includes("Examples:") || commandsWithoutExample.has(words.join(" ")));
      return exit === 0 &&
        stderr === "" &&
        isWhole &&
        positionals.every(({ name }) => stdout.includes(name.replaceAll("_", "-")))
        ? undefined
        : formatRunResult({ exit, stdout, stderr });
    });
    assert.deepEqual(failures, {});
  });

  it("lists a hundred of many invalid rows", async () => {
    const stdin = JSON.stringify(Array.from({ length: 100_000 }, (_, i) => ({ signatory_hash: i, cluster: "eu-1" })));
    const { exit, stderr } = await runCli("router add-signatories --data - --base-url http://127.0.0.1:1", { stdin });
    const rows = Array.from({ length: 100 }, (_, i) => `  - ${i}.signatory_hash must be a string`);
    const lines = ["error: Several values are invalid:", ...rows, "  - … and 99900 more"];
    const hint = "  See svc router add-signatories --help.";
    assert.deepEqual([exit, stderr.trimEnd().split("\n")], [2, [...lines, hint]]);
  });
});
