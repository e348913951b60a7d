import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Example, runExamples } from "../support/cli/examples-stage.ts";
import { type CliBuild, runCli } from "../support/cli/run-cli.ts";
import { getBundleFolder, getSvcPath } from "../support/shipped.ts";

describe("check of the help examples", () => {
  it("runs each example in a shell and its own folder", async () => {
    const built = loadShippedCommandLine();
    const pages = await Promise.all(
      (await listCommands(built)).map(async (words) => (await runCli([...words, "--help"], { built })).stdout),
    );
    const examples = parseInShell(pages.map(extractExamples).join(""));
    assert.ok(examples.length > 300, `${examples.length} examples`);
    assert.deepEqual(await runExamples(examples, built), { failures: {}, unused: [] });
  });
});

/** The bundled command line in this process, because hundreds of processes would take minutes. */
function loadShippedCommandLine(): CliBuild {
  const { main } = createRequire(import.meta.url)(join(getBundleFolder(), "main.cjs"));
  return { main, program: [process.execPath, getSvcPath()] };
}

/** Returns the words of every command, from `svc help --json`. */
async function listCommands(built: CliBuild): Promise<string[][]> {
  const { stdout } = await runCli("help --json", { built });
  return (JSON.parse(stdout) as { commands: { command: string }[] }).commands.map(({ command }) => command.split(" "));
}

/** The text below `Examples:`. Titles are shell comments. */
const extractExamples = (page: string): string => /^Examples:\n((?: {2}.*\n)*)/m.exec(page)?.[1] ?? "";

/** Replaces the program and prints its arguments and stdin, each followed by a zero byte. */
const telling = `svc() { printf '%s\\0' "$#" "$@"; if [ -p /dev/stdin ]; then cat; fi; printf '\\0'; }`;

/** The shell's parse of pasted commands. */
function parseInShell(text: string): Example[] {
  const script = [telling, text].join("\n");
  const output = execFileSync("bash", ["-e", "-o", "pipefail", "-c", script], { stdio: ["ignore", "pipe", "inherit"] });
  const parts = output.toString("utf8").split("\0").slice(0, -1);
  const examples: Example[] = [];
  while (parts.length > 0) {
    const argv = parts.splice(0, Number(parts.shift()));
    const stdin = parts.shift()!;
    examples.push(stdin === "" ? { argv } : { argv, stdin });
  }
  return examples;
}
