/** A file that the page of the console loads. */
export interface ConsoleAsset {
  /** With a hash of its bytes in it. */
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
  /** The same for browsers that accept brotli: a third of it. */
  readonly compressed: Uint8Array;
}

/** The build's files of the console: their names are in the page. */
export interface ConsoleBundle {
  readonly script: string;
  readonly style: string;
  readonly icon: string;
  readonly assets: ReadonlyMap<string, ConsoleAsset>;
}

/** Reads it when it is first asked for. */
export type ReadConsole = () => Promise<ConsoleBundle>;
