import { posix } from "node:path";
import { extractProse, type SourceFile } from "./repository.ts";

const reference = /[RCFPLE]\d{1,2}/.source;
const gap = /(?:\s*\n\s*(?:\*|\/\/)\s*|\s+)/.source;
const list = `${reference}(?:(?:,|,? and|,? to)${gap}${reference})*`;
const citation = new RegExp(`DECISIONS\\.md,${gap}(${list})(?!\\d)`, "g");

/** Returns the numbers of the rows of a page of decisions. */
export const parseRowIds = (page: string): Set<string> =>
  new Set([...page.matchAll(new RegExp(`^\\| (${reference}) \\|`, "gm"))].map(([, row]) => row!));

/** Lists the rows that a text cites, with their page. */
export const findCitedRows = (text: string): string[] =>
  [...text.matchAll(citation)].flatMap(([, citationText]) => citationText!.match(new RegExp(reference, "g"))!);

/** Lists invalid references: to a missing row, to a row without its page (“C18”), and to a missing page. */
export const findDeadReferences = (
  files: readonly SourceFile[],
  rows: ReadonlySet<string>,
  paths: readonly string[],
): string[] =>
  files.flatMap(({ path, text }) => {
    const unknownRows = findCitedRows(text)
      .filter((row) => !rows.has(row))
      .map((row) => `${path} cites ${row}, which DECISIONS.md does not have`);
    const prose = (path.endsWith(".md") ? text : extractProse(text)).replace(citation, "");
    const bare = [...prose.matchAll(new RegExp(`(?<![\\w%.-])${reference}(?![\\w%-])`, "g"))]
      .filter(([row]) => rows.has(row))
      .map(([row]) => `${path} cites ${row} without its page`);
    const pages = [...prose.matchAll(/(?<![\w@/.{}-])[\w./-]*\w\.md\b/g)]
      .filter(([page]) => !isPage(page, path, paths))
      .map(([page]) => `${path} names ${page}, which is not in the project`);
    return [...unknownRows, ...bare, ...pages];
  });

/** Reports whether a page exists at a path, relative to the root or to the citing file, or by name alone. */
const isPage = (page: string, from: string, paths: readonly string[]): boolean =>
  paths.includes(posix.join(posix.dirname(from), page)) ||
  paths.some((path) => path === page || (!page.includes("/") && path.endsWith(`/${page}`)));
