import { stat } from "node:fs/promises";
import { findLinkTargetOutside } from "../../../files/folders.ts";
import type { Context } from "../../command.ts";
import { readInput, requireFile } from "../../parse/body.ts";
import { UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";
import type { FilePosition, ScenarioProblem } from "./check-scenario.ts";
import { fillReferences } from "./references.ts";
import { explainRejection } from "./rejection.ts";
import { InvalidScenarioError, type ParsedScenario, parseScenario } from "./scenario-file.ts";
import { getCommandWords } from "./steps.ts";

/** Reads and checks scenario files. Throws UsageError, with a sentence for each problem of all files. */
export async function loadScenarios(
  files: readonly string[],
  { host, parseLine }: Pick<Context, "host" | "parseLine">,
): Promise<readonly ParsedScenario[]> {
  const scenarios: ParsedScenario[] = [];
  const problems: ScenarioProblem[] = [];
  for (const file of files) {
    const text = (await readRegularFile(host, file)).toString("utf8");
    if (text.trim() === "") throw new UsageError(`<file>: ${file} is empty`);
    const lines: CommandLine[] = [];
    const fileProblems: ScenarioProblem[] = [];
    try {
      scenarios.push(
        parseScenario(file, text, (svc, position) => lines.push({ words: getCommandWords(svc), position })),
      );
    } catch (error) {
      if (!(error instanceof InvalidScenarioError)) throw error;
      fileProblems.push(...error.problems);
    }
    fileProblems.push(...(await findRejectedLines(lines, parseLine)));
    problems.push(...fileProblems.sort((a, b) => a.line - b.line || a.column - b.column));
  }
  if (problems.length > 0) throw new InvalidScenarioError(problems);
  return scenarios;
}

/**
 * Reads a regular file, because reading a pipe or a device can block. A link that leads out of this folder is not
 * followed, because messages quote the file and a pattern of the shell also names the links of a clone.
 */
async function readRegularFile(host: Host, path: string): Promise<Buffer> {
  const absolute = await requireFile(host, path, "<file>");
  if (!(await stat(absolute)).isFile()) throw new UsageError(`<file>: ${path} is not a regular file`);
  const target = await findLinkTargetOutside(host.cwd, absolute);
  if (target !== undefined) {
    throw new UsageError(`<file>: ${path} is a link that leads out of this folder, to ${target}`, {
      hint: "To run that file, name it itself.",
    });
  }
  return readInput(host, absolute, "<file>");
}

interface CommandLine {
  readonly words: readonly string[];
  readonly position: FilePosition;
}

/** Finds forbidden command lines that are recognizable before values are known. */
async function findRejectedLines(lines: readonly CommandLine[], parseLine: Context["parseLine"]) {
  const problems: ScenarioProblem[] = [];
  for (const { words, position } of lines) {
    const line = await parseLine(words.map(fillReferences));
    const sentence = line && explainRejection(line);
    if (sentence !== undefined) problems.push({ ...position, sentence });
  }
  return problems;
}
