import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../structure/repository.ts";

/** The pages for users that are written by hand, by their path. */
export const pages: readonly string[] = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md") && name !== "reference.md")
    .map((name) => `docs/${name}`),
];

export const readPage = (page: string): string => readFileSync(join(root, page), "utf8");

/** The blocks of one language in a page, whole. */
export const blocks = (page: string, language: string): string[] =>
  [...readPage(page).matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, block]) => block!);

/** The commands of some blocks, in their order, without comments; `a && b` are two. */
export const commandsOf = (some: readonly string[]): string[] =>
  some
    .join("")
    .replaceAll(/\\\n */g, "")
    .split("\n")
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "")
    .flatMap((line) => line.split(" && "));

/** The shell commands of a page. */
export const commandsIn = (page: string): string[] => commandsOf(blocks(page, "sh"));

/** Compares a part of a page with what it should be. UPDATE_GOLDEN=1 rewrites it instead. */
export function assertPart(page: string, part: string, expected: string): void {
  assert.ok(readPage(page).includes(part), `${page} does not contain:\n${part}`);
  if (process.env.UPDATE_GOLDEN === "1")
    writeFileSync(
      join(root, page),
      readPage(page).replace(part, () => expected),
    );
  else assert.equal(part, expected, `${page} differs; UPDATE_GOLDEN=1 npm test -- scenarios rewrites it`);
}
