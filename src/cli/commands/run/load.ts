import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { findLinkTargetOutside } from "../../../files/folders.ts";
import type { Context } from "../../command.ts";
import { readInput, requireFile } from "../../parse/body.ts";
import { UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";
import { type ParsedScenario, parseScenario } from "./parse.ts";
import { type DocumentPath, InvalidScenarioError, ScenarioError } from "./problem.ts";
import { fillReferences } from "./references.ts";
import { explainRejection } from "./rejection.ts";
import type { ScenarioStep } from "./schema.ts";
import { getCommandWords } from "./steps.ts";

/** Reads and checks scenario files. Throws UsageError with a sentence for each problem. */
export async function loadScenarios(
  files: readonly string[],
  { host, parseLine }: Pick<Context, "host" | "parseLine">,
): Promise<readonly ParsedScenario[]> {
  const { registry } = await import("../../../api/registry.ts");
  const results = await Promise.all(
    files.map(async (file) => {
      const text = (await readRegularFile(host, file, "<file>")).toString("utf8");
      if (text.trim() === "") throw new UsageError(`<file>: ${file} is empty`);
      try {
        const parsed = parseScenario(file, text, registry);
        const rejections = await findRejectedLines(parsed.scenario.steps, ["steps"], parsed, parseLine);
        return rejections.length > 0 ? new InvalidScenarioError(rejections) : parsed;
      } catch (error) {
        if (error instanceof InvalidScenarioError) return error;
        throw error;
      }
    }),
  );
  const errors = results.flatMap((result) => (result instanceof InvalidScenarioError ? result.problems : []));
  if (errors.length > 0) throw new InvalidScenariosError(errors);
  return results as readonly ParsedScenario[];
}

/** Finds forbidden command lines that are recognizable before values are known. */
async function findRejectedLines(
  steps: readonly ScenarioStep[],
  path: DocumentPath,
  parsed: ParsedScenario,
  parseLine: Context["parseLine"],
): Promise<readonly ScenarioError[]> {
  const problems: ScenarioError[] = [];
  for (const [i, step] of steps.entries()) {
    const stepPath = [...path, i];
    if ("for each" in step)
      problems.push(...(await findRejectedLines(step.steps, [...stepPath, "steps"], parsed, parseLine)));
    if (!("svc" in step)) continue;
    const line = await parseLine(getCommandWords(step.svc).map(fillReferences));
    const rejection = line && explainRejection(line);
    if (rejection === undefined) continue;
    problems.push(new ScenarioError(parsed.file, parsed.positions.locate([...stepPath, "svc"]), rejection));
  }
  return problems;
}

/**
 * Reads a regular file, because reading a pipe or a device can block. A link that leads out of this folder is not
 * followed, because messages quote the file and a pattern of the shell also names the links of a clone.
 */
async function readRegularFile(host: Host, path: string, flag: string): Promise<Buffer> {
  if (path !== "-") {
    const absolute = await requireFile(host, path, flag);
    if (!(await stat(absolute)).isFile()) throw new UsageError(`${flag}: ${path} is not a regular file`);
    const target = await findLinkTargetOutside(host.cwd, absolute);
    if (target !== undefined) {
      throw new UsageError(`${flag}: ${path} is a link that leads out of this folder, to ${target}`, {
        hint: "To run that file, name it itself.",
      });
    }
  }
  return readInput(host, path, flag);
}

export class InvalidScenariosError extends UsageError {
  readonly errors: readonly ScenarioError[];

  constructor(errors: readonly ScenarioError[]) {
    const [first, ...otherErrors] = errors;
    super(first!.message, {
      details: otherErrors.map(({ message }) => message),
      hint: "svc run --schema prints the JSON Schema of scenario files.",
    });
    this.errors = errors;
  }
}

/** Reports whether a seed is the path of a file, not a name or an inline seed. */
export const isSeedFile = (seed: unknown): seed is string =>
  typeof seed === "string" && seed !== "demo" && seed !== "empty";

/** Returns the folder of a scenario file, which contains its seed. */
export const getScenarioFolder = ({ file }: Pick<ParsedScenario, "file">, host: Host): string =>
  dirname(resolve(host.cwd, file));
