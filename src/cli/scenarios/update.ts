import { resolve } from "node:path";
import { type Document, isNode } from "yaml";
import { counted } from "../../base/counted.ts";
import type { Context } from "../command.ts";
import { writeOutput } from "../output/file.ts";
import type { ParsedScenario } from "./parse.ts";
import type { ScenarioResult, SeenValue } from "./result.ts";

/** Writes what was seen into the expectations of the files. Comments, and everything else, stay as they are. */
export async function updateFiles(
  scenarios: readonly ParsedScenario[],
  results: readonly ScenarioResult[],
  { host, output }: Pick<Context, "host" | "output">,
): Promise<void> {
  for (const { file, seen } of results) {
    const parsed = scenarios.find((one) => one.file === file);
    if (!parsed || seen.length === 0) continue;
    for (const one of seen) replaceValue(parsed.document, one);
    await writeOutput(host, resolve(host.cwd, file), [Buffer.from(parsed.document.toString({ lineWidth: 0 }))]);
    await output.note(`Wrote ${counted(seen.length, "expectation")} into ${file}`);
  }
}

/** A value keeps the style and the comments of the one that it replaces. */
function replaceValue(document: Document, { path, value }: SeenValue): void {
  const before = document.getIn(path, true);
  const node = document.createNode(value, { flow: path.length > 0 && isFlow(document, path) });
  if (isNode(before)) {
    node.comment = before.comment ?? null;
    node.commentBefore = before.commentBefore ?? null;
  }
  document.setIn(path, node);
}

/** Whether what stands at a path, or around it, is written within braces or brackets. */
function isFlow(document: Document, path: SeenValue["path"]): boolean {
  for (let length = path.length; length > 0; length -= 1) {
    const node = document.getIn(path.slice(0, length), true) as { readonly flow?: boolean } | undefined;
    if (node?.flow) return true;
  }
  return false;
}
