export const inputFormats = ["lines", "csv", "tsv", "ndjson"] as const;
export type InputFormat = (typeof inputFormats)[number];

const byExtension: readonly (readonly [RegExp, InputFormat])[] = [
  [/\.csv$/, "csv"],
  [/\.tsv$/, "tsv"],
  [/\.(ndjson|jsonl)$/, "ndjson"],
];

/** The format by the name of the file: `.csv`, `.tsv`, `.ndjson` or `.jsonl`, each also with `.gz`. */
export function detectFormat(path: string): InputFormat {
  const name = path.toLowerCase().replace(/\.gz$/, "");
  return byExtension.find(([extension]) => extension.test(name))?.[1] ?? "lines";
}
