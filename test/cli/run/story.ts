import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { createTestFolder } from "../../support/cli/cli-emulator.ts";
import { type RunOptions, type RunResult, runCli } from "../../support/cli/run-cli.ts";

/** The input of `contracts.create`, as it stands in a story. */
export const contract =
  "{ contract_template_id: 101, contract_data: {}, counter_party_details: [{ is_individual: true, poc_details: { first_name: Jo, email: jo@acme.example } }] }";

export interface StoryRun extends RunResult {
  /** A file of the folder, after the run. */
  readFile(name: string): Promise<string>;
}

/** Runs a story as `story.yaml` in a folder of its own, in this process. */
export async function runStory(
  t: Pick<TestContext, "after">,
  story: string,
  flags: readonly string[] = [],
  files: Readonly<Record<string, string>> = {},
  options: RunOptions = {},
): Promise<StoryRun> {
  const cwd = await createTestFolder(t);
  for (const [name, text] of Object.entries({ ...files, "story.yaml": story.trimStart() })) {
    await writeFile(join(cwd, name), text);
  }
  const result = await runCli(["run", "story.yaml", "--jobs", "1", ...flags], { cwd, ...options });
  return { ...result, readFile: (name) => readFile(join(cwd, name), "utf8") };
}
