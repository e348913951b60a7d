import { type Document, isMap, isNode, isScalar, type LineCounter } from "yaml";

/** Path in a document: keys and indexes. */
export type DocumentPath = readonly PropertyKey[];

export interface DocumentPosition {
  readonly line: number;
  readonly column: number;
}

/** A problem of a scenario file. The message is one sentence with its position. */
export class ScenarioError extends Error {
  override readonly name = "ScenarioError";
  readonly file: string;
  readonly position: DocumentPosition;
  /** Message without the position. */
  readonly sentence: string;

  constructor(file: string, position: DocumentPosition, sentence: string) {
    super(`${file}:${position.line}:${position.column}: ${sentence}`);
    this.file = file;
    this.position = position;
    this.sentence = sentence;
  }
}

export const compareByPosition = ({ position: a }: ScenarioError, { position: b }: ScenarioError): number =>
  a.line - b.line || a.column - b.column;

/** A scenario file is invalid. */
export class InvalidScenarioError extends Error {
  override readonly name = "InvalidScenarioError";
  readonly problems: readonly ScenarioError[];

  constructor(problems: readonly ScenarioError[]) {
    super(problems.map(({ message }) => message).join("\n"));
    this.problems = problems;
  }
}

export class DocumentPositions {
  readonly #document: Document;
  readonly #lines: LineCounter;

  constructor(document: Document, lines: LineCounter) {
    this.#document = document;
    this.#lines = lines;
  }

  /** Locates the value at a path, or the nearest existing parent. */
  locate(path: DocumentPath): DocumentPosition {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = length === 0 ? this.#document.contents : this.#document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return this.#toPosition(node.range[0]);
    }
    return { line: 1, column: 1 };
  }

  /** Locates a key of the map at a path. */
  locateKey(path: DocumentPath, key: string): DocumentPosition {
    const map = path.length === 0 ? this.#document.contents : this.#document.getIn(path, true);
    const pair = isMap(map)
      ? map.items.find((item) => isScalar(item.key) && String(item.key.value) === key)
      : undefined;
    const range = isScalar(pair?.key) ? pair.key.range : undefined;
    return range ? this.#toPosition(range[0]) : this.locate(path);
  }

  #toPosition(offset: number): DocumentPosition {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}
