import type { Adapter } from "lowdb";
import { type Disk, isMissing } from "../../../../src/files/disk.ts";
import { readLines } from "../../../../src/files/read-lines.ts";
import { isTemporaryName, writeWhole } from "../../../../src/files/whole-file.ts";
import type { State } from "../../live/state.ts";
import type { Upgrade } from "../../live/versions.ts";
import { type Collection, StateRefused } from "../../port.ts";
import { DocumentReader } from "../document-reader.ts";
import { readSealedInto } from "../sealed.ts";
import { type BaseOptions, baseDocument } from "./base-document.ts";
import { type BaseHead, headOf } from "./base-head.ts";

/**
 * A whole state as it stands in a file, on which the journals build: the state file itself is one. The first journal
 * generation that is not in it. (A snapshot is what a user keeps under a name.)
 */
export interface Base {
  readonly generation: number;
  readonly state: State;
}

/** A base that was read, and what its rows, and those of the journals that follow it, need to be of today. */
export interface ReadBase extends Base, BaseHead {
  readonly upgrade: Upgrade;
}

interface Options extends BaseOptions {
  readonly disk: Disk;
  readonly path: string;
  readonly collections: readonly Collection[];
  /** Asked before each piece; throws when the file is no longer wanted, and nothing is left of it. */
  readonly mayGoOn?: () => void;
  /** Waits until everything that the text could hold is durable in the journal, and this file may take its place. */
  readonly durable?: () => Promise<void>;
}

/**
 * Whether a name is that of an unfinished base, as they are called now or were called before. What a crash leaves of
 * them is removed at the next start.
 */
export const isUnfinished = (name: string, base: string): boolean =>
  isTemporaryName(name, base) ||
  (name.startsWith(`${base}.`) && /^[0-9a-f]{12}\.tmp$/.test(name.slice(base.length + 1)));

/**
 * The base file behind lowdb's port: one JSON document, one row per line, read and written in slices. Its last
 * member is a checksum of all bytes before that line, so that no damage goes unseen.
 */
export class BaseFile implements Adapter<Base> {
  readonly #options: Options;
  /** True once the new file stands in the place of the old one. */
  renamed = false;
  /** Bytes of the document last read or written. */
  size = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** The base; null when there is no file. Fails with StateRefused, which names file and line. */
  async read(): Promise<ReadBase | null> {
    const { path, collections } = this.#options;
    const reader = new DocumentReader(collections);
    try {
      await this.readInto(reader);
      return { ...headOf(reader.head), state: reader.state, upgrade: reader.upgrade };
    } catch (cause) {
      if (isMissing(cause)) return null;
      if (!(cause instanceof StateRefused)) throw cause;
      const { message, repairable } = cause;
      throw new StateRefused(`${path}, line ${reader.line}: ${message}`, { cause, repairable });
    }
  }

  /**
   * Feeds the file to a reader; when it fails with StateRefused, the reader holds what was good. A row that does not fit
   * is damage unless the checksum says that it stands there as it was written.
   */
  async readInto(reader: DocumentReader): Promise<void> {
    await readSealedInto(reader, this.#blocks());
  }

  async *#blocks(): AsyncGenerator<Buffer, void> {
    for await (const { bytes } of readLines(this.#options.disk, this.#options.path)) {
      this.size += bytes.byteLength;
      yield bytes;
    }
  }

  /** Puts a new file in the place of the old one, durably. */
  async write({ generation, state }: Base): Promise<void> {
    const { disk, path } = this.#options;
    this.renamed = false;
    const onPlaced = () => {
      this.renamed = true;
    };
    await writeWhole(path, this.#pieces(state, generation), { disk, onPlaced });
  }

  /** The document, piece by piece; the next one is asked for when the one before is written. */
  async *#pieces(state: State, generation: number): AsyncGenerator<Uint8Array, void> {
    let length = 0;
    for await (const piece of baseDocument(state, generation, this.#options)) {
      this.#options.mayGoOn?.();
      length += piece.byteLength;
      yield piece;
    }
    this.size = length;
    await this.#options.durable?.();
  }
}
