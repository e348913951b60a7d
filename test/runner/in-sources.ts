import { existsSync, readFileSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { dirname, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** A position in a file, counted from 1. */
export interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

const maps = new Map<string, SourceMap | undefined>();

/** The position in the sources that one in a compiled file was made of; the same where nothing tells. */
export function inSources(position: Position): Position {
  const entry = mapOf(position.file)?.findEntry(position.line - 1, position.column - 1);
  if (!entry || !("originalSource" in entry)) return position;
  const file = resolve(dirname(position.file), pathOf(entry.originalSource));
  return { file, line: entry.originalLine + 1, column: entry.originalColumn + 1 };
}

/** The same of what may have no position: nothing then. */
export const partlyInSources = ({ file, line, column }: Partial<Position>): Partial<Position> =>
  file === undefined || line === undefined || column === undefined ? {} : inSources({ file, line, column });

/** A text, such as a stack, in which each position in a compiled file is one in the sources, as seen from here. */
export const textInSources = (text: string): string =>
  text.replaceAll(/((?:file:\/\/)?\/[^\s():]+\.js):(\d+):(\d+)/g, (found, file, line, column) => {
    const compiled = { file: pathOf(file), line: Number(line), column: Number(column) };
    const source = inSources(compiled);
    return source === compiled ? found : `${relative(".", source.file)}:${source.line}:${source.column}`;
  });

const pathOf = (name: string): string => (name.startsWith("file:") ? fileURLToPath(name) : name);

function mapOf(file: string): SourceMap | undefined {
  if (!maps.has(file)) {
    const path = `${file}.map`;
    const payload = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as SourceMapPayload) : undefined;
    maps.set(file, payload && new SourceMap(payload));
  }
  return maps.get(file);
}
