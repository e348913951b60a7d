import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { registry } from "../../src/api/registry.ts";
import { deriveSpecs } from "../../src/derive/specs.ts";
import { allCommands } from "../support/all-commands.ts";
import { testFolder } from "../support/cli-emulator.ts";
import { receiver } from "../support/receiver.ts";
import { runCli } from "../support/run-cli.ts";

/** Prints documents of this program, and asks nobody. */
const local = new Set(["openapi"]);
/** Beside `--yes`: what cannot be undone is confirmed by its name. */
const confirmed: Readonly<Record<string, readonly string[]>> = { "router offboard": ["--confirm", "eu-1"] };

/** Fits the bulk commands: what to map, and what to offboard. */
const rows = "id,kind,identifier\nada@example.com,email,ada@example.com\n";

/** The commands of one operation each, with the first example that says more than the command. */
async function commands() {
  const shown = new Map(
    (await allCommands()).map(({ words, examples }) => {
      const full = examples.find(({ argv }) => argv.length > words.length) ?? examples[0];
      return [words.join(" "), full?.argv];
    }),
  );
  return Object.values(deriveSpecs())
    .flat()
    .map(({ words, operation }) => ({ name: words.join(" "), operation, argv: shown.get(words.join(" ")) }))
    .flatMap(({ argv, ...command }) => (argv && !local.has(command.name) ? [{ ...command, argv }] : []));
}

const env = {
  SVC_CLIENT_ID: "id",
  SVC_CLIENT_SECRET: "secret",
  SVC_TOKEN: "token",
  SVC_BASIC_AUTH: "user:password",
  SVC_EMULATOR_TOKEN: "token",
};

describe("a server that fails", () => {
  // A command that ends with 0 although nothing was done is believed by every script (cli-conventions.md, 26).
  it("makes every command exit with something else, and its standard output stay empty", async (t) => {
    const server = await receiver(t);
    server.answer(500);
    const wrong: unknown[] = [];
    for (const { name, operation, argv } of await commands()) {
      const cwd = await testFolder(t);
      const body = registry.find(({ id }) => id === operation)?.examples[0] as { body?: unknown } | undefined;
      for (const file of argv.filter((word) => /^[\w-]+\.[a-z]+$/.test(word))) {
        await writeFile(join(cwd, file), file.endsWith(".csv") ? rows : JSON.stringify(body?.body ?? {}));
      }
      const asked = server.received.length;
      const { exit, out, err } = await runCli(
        [...argv, "--base-url", server.url, "--retries", "0", "--yes", ...(confirmed[name] ?? [])],
        { cwd, env },
      );
      const sent = server.received.length - asked;
      if (exit === 0 || exit === 2 || sent === 0 || out !== "") wrong.push([argv.join(" "), exit, sent, out, err]);
    }
    assert.deepEqual(wrong, []);
  });
});
