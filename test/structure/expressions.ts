import { ts } from "@ts-morph/common";
import { checkSync } from "recheck";
import type { SourceFile } from "./repository.ts";

/** A regular expression in a file. */
export interface Expression {
  readonly source: string;
  readonly flags: string;
  /** Location, such as `src/base/ids.ts:12`. */
  readonly at: string;
}

export interface Expressions {
  readonly literals: readonly Expression[];
  /** Locations of expressions that are created at run time, which cannot be checked. */
  readonly created: readonly string[];
}

/** Finds all regular expressions in files. */
export function findExpressions(files: readonly SourceFile[]): Expressions {
  const literals: Expression[] = [];
  const created: string[] = [];
  for (const { path, text } of files) {
    const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
    const visit = (node: ts.Node): void => {
      const getLocation = () => `${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
      if (ts.isRegularExpressionLiteral(node)) {
        const end = node.text.lastIndexOf("/");
        literals.push({ source: node.text.slice(1, end), flags: node.text.slice(end + 1), at: getLocation() });
      }
      if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === "RegExp") {
        created.push(getLocation());
      }
      ts.forEachChild(node, visit);
    };
    visit(file);
  }
  return { literals, created };
}

/**
 * Limits beyond the needs of the project's expressions. An unfinished check counts as slow. Attacks are limited by
 * steps only, because a limit in seconds would depend on the load of the machine.
 */
const limits = { timeout: 60_000, attackTimeout: null, incubationTimeout: null };

/** Lists expressions that can take more than linear time for some text. */
export function findSlowExpressions(literals: readonly Expression[]): string[] {
  const results = new Map<string, string>();
  return literals.flatMap(({ source, flags, at }) => {
    const written = `/${source}/${flags}`;
    const cachedResult = results.get(written);
    const result = cachedResult ?? checkExpression(source, flags);
    results.set(written, result);
    return result === "linear" ? [] : [`${at} ${written} is ${result}`];
  });
}

function checkExpression(source: string, flags: string): string {
  const result = checkSync(source, flags, limits);
  if (result.status === "safe") return "linear";
  return result.status === "vulnerable" ? result.complexity.summary : `unknown (${result.error.kind})`;
}
