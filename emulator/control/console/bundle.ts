/** A file that the console page loads. */
export interface ConsoleAsset {
  /** Contains a hash of its bytes. */
  readonly name: string;
  readonly type: string;
  readonly bytes: Uint8Array;
  /** Compressed for browsers that accept brotli, to a third of the size. */
  readonly compressed: Uint8Array;
}

/** The console's files from the build. Their names are in the page. */
export interface ConsoleBundle {
  readonly script: string;
  readonly style: string;
  readonly icon: string;
  readonly assets: ReadonlyMap<string, ConsoleAsset>;
}

/** Reads it on the first request. */
export type ReadConsole = () => Promise<ConsoleBundle>;
