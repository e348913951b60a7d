import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../../structure/repository.ts";

/** Paths of the hand-written pages for users. */
export const handWrittenPages: readonly string[] = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md") && name !== "reference.md")
    .map((name) => `docs/${name}`),
];

export const readPage = (page: string): string => readFileSync(join(root, page), "utf8");

/** Returns the code blocks of one language in a page. */
export const extractCodeBlocks = (page: string, language: string): string[] =>
  [...readPage(page).matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, block]) => block!);

/** Parses the commands of code blocks, without comments. `a && b` counts as two commands. */
const parseCommands = (lines: readonly string[]): string[] =>
  lines
    .join("")
    .replaceAll(/\\\n */g, "")
    .split("\n")
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "")
    .flatMap((line) => line.split(" && "));

/** Returns the shell commands of a page. */
export const extractShellCommands = (page: string): string[] => parseCommands(extractCodeBlocks(page, "sh"));

/** Compares a section of a page with the expected text. With UPDATE_GOLDEN=1, rewrites the section instead. */
export function assertPageSection(page: string, part: string, expected: string): void {
  assert.ok(readPage(page).includes(part), `${page} does not contain:\n${part}`);
  if (process.env.UPDATE_GOLDEN === "1")
    writeFileSync(
      join(root, page),
      readPage(page).replace(part, () => expected),
    );
  else assert.equal(part, expected, `${page} differs; UPDATE_GOLDEN=1 npm test -- scenarios rewrites it`);
}
