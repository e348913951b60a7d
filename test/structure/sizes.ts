import type { SourceFile } from "./repository.ts";

export interface Sizes {
  readonly median: number;
  readonly p90: number;
  /** Files of more than 400 lines. */
  readonly longFiles: readonly string[];
}

const countLines = ({ text }: SourceFile): number => text.split("\n").length - (text.endsWith("\n") ? 1 : 0);

/** Computes the length of the files in lines. */
export function measureSizes(files: readonly SourceFile[]): Sizes {
  const counts = files.map(countLines).sort((a, b) => a - b);
  const getPercentile = (share: number) => counts[Math.min(counts.length - 1, Math.floor(counts.length * share))] ?? 0;
  return {
    median: getPercentile(0.5),
    p90: getPercentile(0.9),
    longFiles: files.filter((file) => countLines(file) > 400).map(({ path }) => path),
  };
}

const maxColumns = 120;

/** Lists comments that are wider than the code, which the formatter wraps. URLs are exempt. */
export const findWideComments = (files: readonly SourceFile[]): string[] =>
  files.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, index) => {
      const isWide = line.length > maxColumns && /^ *(?:\/\/|\/?\*)/.test(line) && !line.includes("://");
      return isWide ? [`${path}:${index + 1}`] : [];
    }),
  );

const drawers = /(^|\/)(utils?|helpers?|common|misc|shared|lib)(\/|\.[a-z]+$)/;

/** Lists paths with a name that is too general. */
export const findDrawers = (paths: readonly string[]): string[] => paths.filter((path) => drawers.test(path));
