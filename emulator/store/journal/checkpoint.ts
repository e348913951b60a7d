import * as z from "zod";
import { type LogPosition, startPosition, toHex } from "../../../src/files/log-line.ts";
import type { State } from "../live/state.ts";
import { type Moment, StateFormatError } from "../port.ts";
import { addChecksum, withClosedMark } from "./checksummed-document.ts";
import { createDocument } from "./document.ts";

/*
 * A checkpoint is a complete state in a file, which the journals continue. The state file itself is a checkpoint. Its
 * number is the first journal generation that it does not contain. (A snapshot is a state that a user saves under a
 * name.) The file is one JSON document, one row per line, read and written in slices. Its last member is a checksum of
 * all bytes before that line, which detects any damage.
 */

/** Metadata of a new checkpoint (default: of a state without journal lines before it). */
export type NewCheckpointHead = Pick<CheckpointHead, "generation"> & Partial<CheckpointHead>;

/** Runs work while no transaction is open. */
export type StepRunner = <T>(work: () => T) => Promise<T>;

/**
 * Creates a consistent snapshot as a checksummed document, in pieces that each end within a line. `getHead` is called
 * at the moment of the snapshot. The document contains everything that was committed before.
 */
export async function* formatCheckpoint(
  state: State,
  getHead: () => NewCheckpointHead,
  runStep: StepRunner = async (work) => work(),
): AsyncGenerator<Uint8Array, void> {
  const [head, contents] = await runStep(() => [getHead(), state.takeSnapshot()] as const);
  const { generation, closed = false, position = startPosition, past, moment = {} } = head;
  const members = {
    closed: 0,
    generation,
    transaction: position.number,
    chain: toHex(position.checksum),
    past: past ? { number: past.number, checksum: past.checksum } : null,
    moment,
  };
  let isFirst = true;
  for await (const bytes of addChecksum(createDocument(contents, members))) {
    yield isFirst && closed ? withClosedMark(bytes) : bytes;
    isFirst = false;
  }
}

const HeadMembers = z.object({
  closed: z.literal([0, 1]),
  generation: z.int().min(0),
  transaction: z.int().min(0),
  chain: z.string().regex(/^[0-9a-f]{8}$/),
  past: z.object({ number: z.int(), checksum: z.int() }).optional().catch(undefined),
  moment: z.object({ at: z.int().optional(), ids: z.unknown().optional() }).catch({}),
});

/** Metadata of a checkpoint and of the journals that follow it. */
export interface CheckpointHead {
  /** Generation of the first journal that it does not contain. */
  readonly generation: number;
  /** True if it is complete, so that no journal has to follow it. */
  readonly closed: boolean;
  /** The last journal line that it contains. */
  readonly position: LogPosition;
  /**
   * The line after which this state existed: its position, unless it replaced another state. Undefined if the state has
   * no history.
   */
  readonly past: LogPosition | undefined;
  readonly moment: Moment;
}

/** Fails with StateFormatError if a member is missing or has the wrong type. */
export function parseCheckpointHead(members: Readonly<Record<string, unknown>>): CheckpointHead {
  const { data, error } = HeadMembers.safeParse(members, { jitless: true });
  if (!data) throw new StateFormatError(`"${String(error.issues[0]!.path[0])}" is not valid`);
  const { generation, closed, transaction, chain, past, moment } = data;
  const position = { number: transaction, checksum: Number.parseInt(chain, 16) };
  return { generation, closed: closed === 1, position, past, moment };
}

/** Number of bytes of a checkpoint that are read for its metadata. */
export const maxHeadBytes = 64 * 1024;

/** Reads the metadata in the first lines of a checkpoint. Returns undefined if the file is not a checkpoint. */
export function findCheckpointHead(firstBlock: string): CheckpointHead | undefined {
  const members = firstBlock.slice(0, firstBlock.indexOf(',\n"sequences": '));
  try {
    return parseCheckpointHead(JSON.parse(`${members}}`));
  } catch {
    return undefined;
  }
}
