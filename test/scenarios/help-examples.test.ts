import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Example, triedOut } from "../support/cli/examples-stage.ts";
import { type Built, runCli } from "../support/cli/run-cli.ts";
import { shippedBundle, shippedSvc } from "../support/shipped.ts";

describe("the examples of all help pages, pasted into a shell that has what ships", () => {
  it("work, one by one, each in a folder of its own, with what they speak of", async () => {
    const built = shippedCommandLine();
    const pages = await Promise.all(
      (await commands(built)).map(async (words) => (await runCli([...words, "--help"], { built })).out),
    );
    const examples = typed(pages.map(examplesOn).join(""));
    assert.ok(examples.length > 300, `${examples.length} examples`);
    assert.deepEqual(await triedOut(examples, built), { wrong: {}, unused: [] });
  });
});

/** The command line that ships, loaded into this process: hundreds of processes would take minutes. */
function shippedCommandLine(): Built {
  const { main } = createRequire(import.meta.url)(join(shippedBundle(), "main.cjs"));
  return { main, program: [process.execPath, shippedSvc()] };
}

/** The words of every command. */
async function commands(built: Built): Promise<string[][]> {
  const { out } = await runCli("help --json", { built });
  return (JSON.parse(out) as { commands: { command: string }[] }).commands.map(({ command }) => command.split(" "));
}

/** What stands under `Examples:`, as it is shown: their titles are comments to a shell. */
const examplesOn = (page: string): string => /^Examples:\n((?: {2}.*\n)*)/m.exec(page)?.[1] ?? "";

/** In place of the program: tells the words that follow it, and what is piped in, each with a zero byte behind it. */
const telling = `svc() { printf '%s\\0' "$#" "$@"; if [ -p /dev/stdin ]; then cat; fi; printf '\\0'; }`;

/** What a shell makes of what is pasted into it. */
function typed(pasted: string): Example[] {
  const script = [telling, pasted].join("\n");
  const told = execFileSync("bash", ["-e", "-o", "pipefail", "-c", script], { stdio: ["ignore", "pipe", "inherit"] });
  const parts = told.toString("utf8").split("\0").slice(0, -1);
  const examples: Example[] = [];
  while (parts.length > 0) {
    const argv = parts.splice(0, Number(parts.shift()));
    const stdin = parts.shift()!;
    examples.push(stdin === "" ? { argv } : { argv, stdin });
  }
  return examples;
}
