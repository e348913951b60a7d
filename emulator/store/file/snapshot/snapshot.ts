import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";
import type { Adapter } from "lowdb";
import { type Disk, type DiskFile, isMissing } from "../../../../src/files/disk.ts";
import { beginning, hexOf, type Position } from "../../../../src/files/log-line.ts";
import { readLines } from "../../../../src/files/read-lines.ts";
import { passingContents } from "../../live/contents.ts";
import { SchemaMismatch } from "../../live/schema-mismatch.ts";
import type { State } from "../../live/state.ts";
import type { Upgrade } from "../../live/versions.ts";
import { type Collection, StateRefused } from "../../port.ts";
import { documentSlices } from "../document.ts";
import { DocumentReader } from "../document-reader.ts";
import { lastMember, lastMemberLength, SnapshotChecksum, writeClosed } from "./snapshot-checksum.ts";
import { headOf, type SnapshotHead } from "./snapshot-head.ts";

/** A state as it stands in the file, and the first journal generation that is not in it. */
export interface Snapshot {
  readonly generation: number;
  readonly state: State;
}

/** A snapshot that was read, and what its rows, and those of the journals that follow it, need to be of today. */
export interface ReadSnapshot extends Snapshot, SnapshotHead {
  readonly upgrade: Upgrade;
}

interface Options {
  readonly disk: Disk;
  readonly path: string;
  readonly collections: readonly Collection[];
  /** Called in the first step of the writing: what is committed before it is in the file. */
  readonly begin?: () => void;
  /** Where the journals stood then; the default is the beginning. */
  readonly position?: () => Position;
  /** Whether the file says that no journal follows it. */
  readonly closed?: boolean;
  /** Runs a step of the writing at a moment when no transaction is open. */
  readonly step?: <T>(work: () => T) => Promise<T>;
  /** Waits until everything that the text could hold is durable in the journal, and this file may take its place. */
  readonly durable?: () => Promise<void>;
}

/** Where unfinished snapshots are written; what a crash leaves of them is removed at the next start. */
export const temporaryOf = (path: string): string => `${path}.${randomBytes(6).toString("hex")}.tmp`;
export const isTemporary = (name: string, base: string): boolean =>
  name.startsWith(`${base}.`) && /^[0-9a-f]{12}\.tmp$/.test(name.slice(base.length + 1));

/**
 * The snapshot file behind lowdb's port: one JSON document, one row per line, read and written in slices. Its last
 * member is a checksum of all bytes before that line, so that no damage goes unseen.
 */
export class SnapshotFile implements Adapter<Snapshot> {
  readonly #options: Options;
  /** True once the new file stands in the place of the old one. */
  renamed = false;
  /** Bytes of the document last read or written. */
  size = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** The snapshot; null when there is no file. Fails with StateRefused, which names file and line. */
  async read(): Promise<ReadSnapshot | null> {
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
    const checksum = new SnapshotChecksum();
    let refused: StateRefused | undefined;
    let left = 0;
    for await (const { bytes } of readLines(this.#options.disk, this.#options.path)) {
      this.size += bytes.byteLength;
      checksum.add(bytes);
      if (refused) continue;
      const text = bytes.toString("utf8");
      try {
        left += text.length - reader.feed(text);
      } catch (cause) {
        if (!(cause instanceof StateRefused)) throw cause;
        refused = cause;
      }
    }
    if (refused instanceof SchemaMismatch && !checksum.fits)
      throw new StateRefused(refused.message, { cause: refused });
    if (refused) throw refused;
    if (!reader.ended || left === 0) throw new StateRefused("the file ends too early");
    if (left !== lastMemberLength || !checksum.fits) {
      throw new StateRefused("the checksum does not fit: something above this line was changed");
    }
  }

  /** Writes a new file beside the old one and renames it over it, durably. */
  async write({ generation, state }: Snapshot): Promise<void> {
    const { disk, path } = this.#options;
    const temporary = temporaryOf(path);
    this.renamed = false;
    const file = await disk.create(temporary);
    try {
      try {
        await this.#fill(file, state, generation);
        if (this.#options.closed) await writeClosed(file, true);
        await this.#options.durable?.();
        await file.sync();
      } finally {
        await file.close();
      }
      await disk.rename(temporary, path);
      this.renamed = true;
      await disk.syncFolder(dirname(path));
    } catch (cause) {
      if (!this.renamed) await disk.remove(temporary).catch(() => {});
      throw cause;
    }
  }

  async #fill(file: DiskFile, state: State, generation: number): Promise<void> {
    const step = this.#options.step ?? (async (work) => work());
    const slices = await step(() => {
      this.#options.begin?.();
      const { number: transaction, checksum } = this.#options.position?.() ?? beginning;
      return documentSlices(passingContents(state), { closed: 0, generation, transaction, chain: hexOf(checksum) });
    });
    let checksum = 0;
    let length = 0;
    const write = async (text: string) => {
      const bytes = Buffer.from(text);
      checksum = crc32(bytes, checksum);
      await file.write(bytes, length);
      length += bytes.byteLength;
    };
    for (let next = await step(() => slices.next()); !next.done; next = await step(() => slices.next())) {
      await write(next.value);
    }
    await write(",\n");
    await write(lastMember(checksum));
    this.size = length;
  }
}
