import { crc32 } from "node:zlib";
import type { Adapter } from "lowdb";
import * as z from "zod";
import { writeFileAtomic } from "../../../src/files/atomic-write.ts";
import { type Disk, isMissing } from "../../../src/files/disk.ts";
import { type LogPosition, startPosition, toHex } from "../../../src/files/log-line.ts";
import { readLines } from "../../../src/files/read-lines.ts";
import { consistentSnapshot } from "../live/compaction.ts";
import type { State } from "../live/state.ts";
import type { Upgrade } from "../live/versions.ts";
import { type Collection, type Moment, StateFormatError } from "../port.ts";
import { lastMember, readChecksummedInto, withClosedMark } from "./checksummed-document.ts";
import { documentSlices } from "./document.ts";
import { DocumentReader } from "./document-reader.ts";

/**
 * A whole state in a file, from which the journals continue: the state file itself is one. Its number is that of the
 * first journal generation that it does not contain. (A snapshot is a state that a user saves under a name.)
 */
export interface Checkpoint {
  readonly generation: number;
  readonly state: State;
}

/** A checkpoint that was read, and what its rows, and those of the journals that follow it, need to be of today. */
export interface LoadedCheckpoint extends Checkpoint, CheckpointHead {
  readonly upgrade: Upgrade;
}

interface Options extends CheckpointOptions {
  readonly disk: Disk;
  readonly path: string;
  readonly collections: readonly Collection[];
  /** Asked before each piece; throws when the file is no longer wanted, and nothing is left of it. */
  readonly mayGoOn?: () => void;
  /** Waits until everything that the text could hold is durable in the journal, and this file may take its place. */
  readonly durable?: () => Promise<void>;
}

/**
 * The checkpoint file behind lowdb's port: one JSON document, one row per line, read and written in slices. Its last
 * member is a checksum of all bytes before that line, so that no damage goes unseen.
 */
export class CheckpointFile implements Adapter<Checkpoint> {
  readonly #options: Options;
  /** True once the new file has replaced the old one. */
  renamed = false;
  /** Bytes of the document last read or written. */
  size = 0;

  constructor(options: Options) {
    this.#options = options;
  }

  /** The checkpoint; null when there is no file. Fails with StateFormatError, which names file and line. */
  async read(): Promise<LoadedCheckpoint | null> {
    const { path, collections } = this.#options;
    const reader = new DocumentReader(collections);
    try {
      await this.readInto(reader);
      return { ...parseCheckpointHead(reader.head), state: reader.state, upgrade: reader.upgrade };
    } catch (cause) {
      if (isMissing(cause)) return null;
      if (!(cause instanceof StateFormatError)) throw cause;
      const { message, repairable } = cause;
      throw new StateFormatError(`${path}, line ${reader.line}: ${message}`, { cause, repairable });
    }
  }

  /**
   * Feeds the file to a reader; when it fails with StateFormatError, the reader holds the rows before the damage. An
   * invalid row is damage unless the checksum shows that it was written so.
   */
  async readInto(reader: DocumentReader): Promise<void> {
    await readChecksummedInto(reader, this.#blocks());
  }

  async *#blocks(): AsyncGenerator<Buffer, void> {
    for await (const { bytes } of readLines(this.#options.disk, this.#options.path)) {
      this.size += bytes.byteLength;
      yield bytes;
    }
  }

  /** Puts a new file instead of the old one, durably. */
  async write({ generation, state }: Checkpoint): Promise<void> {
    const { disk, path } = this.#options;
    this.renamed = false;
    const onPlaced = () => {
      this.renamed = true;
    };
    await writeFileAtomic(path, this.#pieces(state, generation), { disk, onPlaced });
  }

  /** The document, piece by piece; the next one is asked for when the one before is written. */
  async *#pieces(state: State, generation: number): AsyncGenerator<Uint8Array, void> {
    let length = 0;
    for await (const piece of formatCheckpoint(state, generation, this.#options)) {
      this.#options.mayGoOn?.();
      length += piece.byteLength;
      yield piece;
    }
    this.size = length;
    await this.#options.durable?.();
  }
}

/** Metadata of a checkpoint, and how its picture is taken. */
export interface CheckpointOptions {
  /** Called in the first step of the writing: the document contains everything that was committed before. */
  readonly begin?: () => void;
  /** Position of the journals at that time; the default is the beginning. */
  readonly position?: () => LogPosition;
  /** Whether the document says that no journal follows it. */
  readonly closed?: boolean;
  /** After which line this state was; omitted: nothing led to it. */
  readonly past?: () => LogPosition | undefined;
  readonly moment?: () => Moment;
  /** Takes the picture at a moment when no transaction is open. */
  readonly step?: <T>(work: () => T) => Promise<T>;
}

/**
 * A state of one moment as a sealed document, piece by piece; each ends within a line. `generation`: the first journal that
 * is not in it.
 */
export async function* formatCheckpoint(
  state: State,
  generation: number,
  options: CheckpointOptions,
): AsyncGenerator<Uint8Array, void> {
  const step = options.step ?? (async (work) => work());
  const contents = await step(() => {
    options.begin?.();
    return { now: consistentSnapshot(state), head: headFor(generation, options) };
  });
  let checksum = 0;
  const covered = (text: string): Buffer => {
    const bytes = Buffer.from(text);
    checksum = crc32(bytes, checksum);
    return bytes;
  };
  try {
    const slices = documentSlices(contents.now, contents.head);
    const first = covered(slices.next().value ?? "");
    yield options.closed ? withClosedMark(first) : first;
    for (const slice of slices) yield covered(slice);
  } finally {
    contents.now.end();
  }
  yield covered(",\n");
  yield covered(lastMember(checksum));
}

function headFor(generation: number, { position, past, moment }: CheckpointOptions): Readonly<Record<string, unknown>> {
  const { number: transaction, checksum } = position?.() ?? startPosition;
  const { number, checksum: chain } = past?.() ?? {};
  return {
    closed: 0,
    generation,
    transaction,
    chain: toHex(checksum),
    past: number === undefined ? null : { number, checksum: chain },
    moment: moment?.() ?? {},
  };
}

const WrittenPosition = z.object({ number: z.int(), checksum: z.int() });
const WrittenMoment = z.object({ at: z.int().optional(), ids: z.unknown().optional() });

/** Metadata of a checkpoint and of the journals that follow it. */
export interface CheckpointHead {
  /** Generation of the first journal that it does not contain. */
  readonly generation: number;
  /** Whether it holds everything, so that no journal need follow it. */
  readonly closed: boolean;
  /** Up to which line of the journals it holds everything. */
  readonly position: LogPosition;
  /**
   * The line after which this state was: its position, unless it replaced another state. Undefined if nothing led to
   * it.
   */
  readonly past: LogPosition | undefined;
  /** When it was written. */
  readonly moment: Moment;
}

/** Fails with StateFormatError if a member is missing or of another kind. */
export function parseCheckpointHead(members: Readonly<Record<string, unknown>>): CheckpointHead {
  const { generation, closed, transaction, chain, past, moment } = members;
  if (closed !== 0 && closed !== 1) throw new StateFormatError('"closed" is neither 0 nor 1');
  if (typeof chain !== "string" || !/^[0-9a-f]{8}$/.test(chain))
    throw new StateFormatError('"chain" is not a checksum');
  return {
    generation: wholeNumber({ generation }),
    closed: closed === 1,
    position: { number: wholeNumber({ transaction }), checksum: Number.parseInt(chain, 16) },
    past: WrittenPosition.safeParse(past).data,
    moment: WrittenMoment.safeParse(moment).data ?? {},
  };
}

/** Number of bytes of a checkpoint that are read for its metadata. */
export const maxHeadLength = 64 * 1024;

/** The metadata in the first lines of a checkpoint, without reading the rest; undefined if it is not one. */
export function findCheckpointHead(firstBlock: string): CheckpointHead | undefined {
  const members = firstBlock.slice(0, firstBlock.indexOf(',\n"sequences": '));
  try {
    return parseCheckpointHead(JSON.parse(`${members}}`));
  } catch {
    return undefined;
  }
}

function wholeNumber(member: Readonly<Record<string, unknown>>): number {
  const [[name, value]] = Object.entries(member) as [[string, unknown]];
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new StateFormatError(`"${name}" is not a whole number`);
}
