import { dirname, resolve } from "node:path";
import { UsageError } from "../failure.ts";
import type { Host } from "../host.ts";
import { readText } from "../parse/body.ts";
import { type ParsedScenario, parseScenario } from "./parse.ts";
import { ScenarioError } from "./problem.ts";

/** Reads and checks scenario files. Throws UsageError, with a sentence for each file that is wrong. */
export async function loadScenarios(files: readonly string[], host: Host): Promise<readonly ParsedScenario[]> {
  const { registry } = await import("../../api/registry.ts");
  const loaded = await Promise.all(
    files.map(async (file) => {
      const text = await readText(host, file, "<file>");
      if (text.trim() === "") throw new UsageError(`<file>: ${file} is empty`);
      try {
        return parseScenario(file, text, registry);
      } catch (error) {
        if (error instanceof ScenarioError) return error;
        throw error;
      }
    }),
  );
  const wrong = loaded.filter((one) => one instanceof ScenarioError);
  if (wrong.length > 0) throw new WrongScenarios(wrong);
  return loaded as readonly ParsedScenario[];
}

/** Scenario files that cannot be run. */
export class WrongScenarios extends UsageError {
  readonly errors: readonly ScenarioError[];

  constructor(errors: readonly ScenarioError[]) {
    const [first, ...more] = errors;
    super(first!.message, {
      details: more.map(({ message }) => message),
      hint: "svc run --schema prints the JSON Schema of scenario files.",
    });
    this.errors = errors;
  }
}

/** The folder of a scenario file, from which its seed is found. */
export const folderOf = ({ file }: Pick<ParsedScenario, "file">, host: Host): string =>
  dirname(resolve(host.cwd, file));
