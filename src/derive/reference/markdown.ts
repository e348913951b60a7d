/** A table; cells are escaped, and an empty table is nothing at all. */
export function renderMarkdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return [];
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(line)];
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

export const code = (text: string): string => `\`${text}\``;

export const codes = (texts: readonly string[]): string => texts.map(code).join(", ");

/** Blocks with one empty line between them; empty ones leave no gap. */
export const blocks = (...parts: readonly (string | readonly string[])[]): string =>
  parts
    .map((part) => (typeof part === "string" ? part : part.join("\n")))
    .filter((part) => part !== "")
    .join("\n\n");
