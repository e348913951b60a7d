import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";

const path = new URL("../../../README.md", import.meta.url);

export const readme = (): string => readFileSync(path, "utf8");

/** The README's blocks of one language, whole. */
export const blocks = (language: string): string[] =>
  [...readme().matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, block]) => block!);

/** The commands of some blocks, in their order, without comments; `a && b` are two. */
export const commandsOf = (some: readonly string[]): string[] =>
  some
    .join("")
    .replaceAll(/\\\n */g, "")
    .split("\n")
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "")
    .flatMap((line) => line.split(" && "));

/** Compares a part of the README with what it should be. UPDATE_GOLDEN=1 rewrites it instead. */
export function assertPart(part: string, expected: string): void {
  assert.ok(readme().includes(part), `README.md does not hold:\n${part}`);
  if (process.env.UPDATE_GOLDEN === "1")
    writeFileSync(
      path,
      readme().replace(part, () => expected),
    );
  else assert.equal(part, expected, "README.md differs; UPDATE_GOLDEN=1 npm test -- derive scenarios rewrites it");
}

/** What stands between `<!-- name … -->` and `<!-- end -->`. */
export function tableNamed(name: string): string {
  const [, table] = new RegExp(`<!-- ${name}\\b[^\\n]*-->\\n([\\s\\S]*?)<!-- end -->`).exec(readme()) ?? [];
  assert.ok(table !== undefined, `README.md has no place for the table ${name}`);
  return `<!-- ${name}${readme().split(`<!-- ${name}`)[1]!.split("-->")[0]}-->\n${table}<!-- end -->`;
}
