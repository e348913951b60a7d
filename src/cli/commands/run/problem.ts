import { type Document, isMap, isNode, isScalar, type LineCounter } from "yaml";

/** The path to a part of a document: names and positions. */
export type Path = readonly PropertyKey[];

/** A place in a file, counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** A scenario file is wrong: one sentence with its place. */
export class ScenarioError extends Error {
  override readonly name = "ScenarioError";
  readonly file: string;
  readonly position: Position;
  /** The sentence alone. */
  readonly sentence: string;

  constructor(file: string, position: Position, sentence: string) {
    super(`${file}:${position.line}:${position.column}: ${sentence}`);
    this.file = file;
    this.position = position;
    this.sentence = sentence;
  }
}

/** Where parts of a document are. */
export class Positions {
  readonly #document: Document;
  readonly #lines: LineCounter;

  constructor(document: Document, lines: LineCounter) {
    this.#document = document;
    this.#lines = lines;
  }

  /** Of the value at a path; if there is none, of the nearest part that it would be in. */
  locate(path: Path): Position {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = length === 0 ? this.#document.contents : this.#document.getIn(path.slice(0, length), true);
      if (isNode(node) && node.range) return this.#toPosition(node.range[0]);
    }
    return { line: 1, column: 1 };
  }

  /** Of a name in the map at a path. */
  locateKey(path: Path, key: string): Position {
    const map = path.length === 0 ? this.#document.contents : this.#document.getIn(path, true);
    const pair = isMap(map) ? map.items.find((one) => isScalar(one.key) && String(one.key.value) === key) : undefined;
    const range = isScalar(pair?.key) ? pair.key.range : undefined;
    return range ? this.#toPosition(range[0]) : this.locate(path);
  }

  #toPosition(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}
