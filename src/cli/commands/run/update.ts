import { resolve } from "node:path";
import { Document, isCollection, isNode } from "yaml";
import type { Context } from "../../command.ts";
import { writeOutput } from "../../output/file.ts";
import type { ParsedScenario } from "./parse.ts";
import type { ScenarioResult, SeenValue } from "./result.ts";

/** Writes observations into the expectations of the files. Comments and everything else stay unchanged. */
export async function updateFiles(
  scenarios: readonly ParsedScenario[],
  results: readonly ScenarioResult[],
  { host }: Pick<Context, "host">,
): Promise<void> {
  for (const { file, seen } of results) {
    const parsed = scenarios.find((one) => one.file === file);
    if (!parsed || seen.length === 0) continue;
    await writeOutput(host, resolve(host.cwd, file), [Buffer.from(parsed.mark + insertObservations(parsed, seen))]);
  }
}

/** Replaces values at positions in the text of a file. */
function insertObservations({ text, document }: ParsedScenario, seen: readonly SeenValue[]): string {
  const edits = seen.flatMap(({ path, value }) => {
    const node = document.getIn(path, true);
    return isNode(node) && node.range ? [{ start: node.range[0], end: node.range[1], value }] : [];
  });
  return edits
    .sort((one, other) => other.start - one.start)
    .reduce((now, { start, end, value }) => {
      const before = now.slice(start, end);
      const blanks = before.slice(before.trimEnd().length);
      // An omitted value leaves no blank behind the colon.
      const space = now[start - 1] === ":" ? " " : "";
      return now.slice(0, start) + space + formatYaml(value) + blanks + now.slice(end);
    }, text);
}

/** Formats a value on one line, for any position. */
function formatYaml(value: unknown): string {
  const document = new Document([value]);
  if (isCollection(document.contents)) document.contents.flow = true;
  const list = document.toString({ lineWidth: 0, flowCollectionPadding: true }).trim();
  return list.slice(1, -1).trim();
}
