/** A file that the page of the console loads. */
export interface ConsoleAsset {
  /** With a hash of its bytes in it. */
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
  /** The same for whoever takes brotli: a third of it. */
  readonly compressed: Uint8Array;
}

/** What the build made of the console: the names are in the page. */
export interface ConsoleBundle {
  readonly script: string;
  readonly style: string;
  readonly icon: string;
  readonly assets: ReadonlyMap<string, ConsoleAsset>;
}

/** Reads it when it is first asked for. */
export type ReadConsole = () => Promise<ConsoleBundle>;
