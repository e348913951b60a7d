import type { TraceTree } from "./tree-lines.ts";

/** Viewers refuse larger drawings unless they are told otherwise: 500 edges, 50,000 characters. */
const mostBoxes = 400;
const mostCharacters = 45_000;
const longestText = 100;

/** The tree as a flowchart of Mermaid. */
export function renderMermaid({ nodes, planned, more }: TraceTree): string[] {
  const boxes = new Map<string, string>();
  const lines = ["flowchart TD"];
  let length = 0;
  let left = 0;
  const add = (parent: string | null, first: string, second: string, shape: readonly [string, string]) => {
    const above = parent === null ? undefined : boxes.get(parent);
    const box = `n${boxes.size}`;
    const line = `  ${box}${shape[0]}"${label(first)}<br/>${label(second)}"${shape[1]}`;
    if (boxes.size >= mostBoxes || length + line.length > mostCharacters || (parent !== null && !above)) {
      left += 1;
      return undefined;
    }
    length += line.length;
    lines.push(line, ...(above === undefined ? [] : [`  ${above} --> ${box}`]));
    return box;
  };
  for (const { id, parent, at, what, because } of nodes) {
    const box = add(parent, `${id} ${what}`, `${at} ${because}`, ["[", "]"]);
    if (box !== undefined) boxes.set(id, box);
  }
  planned.forEach(({ parent, due, what, because }, i) => {
    const box = add(parent, `planned: ${what}`, `${due} ${because}`, ["([", "])"]);
    if (box !== undefined) boxes.set(`planned ${i}`, box);
  });
  if (left > 0 || more) lines.push(`  rest["${left > 0 ? `${left} more` : "More entries"}"]`);
  return lines;
}

/** Whatever Mermaid or a page would take for its own stands as a code of its character. */
const label = (text: string): string =>
  (text.length > longestText ? `${[...text].slice(0, longestText).join("")}…` : text).replace(
    /[^\p{L}\p{N} .,:/_+()…-]/gu,
    (character) => `#${character.codePointAt(0)};`,
  );
