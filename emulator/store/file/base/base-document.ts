import { crc32 } from "node:zlib";
import { beginning, hexOf, type Position } from "../../../../src/files/log-line.ts";
import type { Moment } from "../../history.ts";
import { contentsNow } from "../../live/contents.ts";
import type { State } from "../../live/state.ts";
import { documentSlices } from "../document.ts";
import { lastMember, markedClosed } from "./document-checksum.ts";

/** What a base says of itself, and how its picture is taken. */
export interface BaseOptions {
  /** Called in the first step of the writing: what is committed before it is in the document. */
  readonly begin?: () => void;
  /** Where the journals stood then; the default is the beginning. */
  readonly position?: () => Position;
  /** Whether the document says that no journal follows it. */
  readonly closed?: boolean;
  /** After which line this state was; left out: nothing led to it. */
  readonly past?: () => Position | undefined;
  readonly moment?: () => Moment;
  /** Takes the picture at a moment when no transaction is open. */
  readonly step?: <T>(work: () => T) => Promise<T>;
}

/**
 * A state of one moment as a sealed document, piece by piece; each ends within a line. `generation`: the first journal that
 * is not in it.
 */
export async function* baseDocument(
  state: State,
  generation: number,
  options: BaseOptions,
): AsyncGenerator<Uint8Array, void> {
  const step = options.step ?? (async (work) => work());
  const contents = await step(() => {
    options.begin?.();
    return { now: contentsNow(state), head: headFor(generation, options) };
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
    yield options.closed ? markedClosed(first) : first;
    for (const slice of slices) yield covered(slice);
  } finally {
    contents.now.end();
  }
  yield covered(",\n");
  yield covered(lastMember(checksum));
}

function headFor(generation: number, { position, past, moment }: BaseOptions): Readonly<Record<string, unknown>> {
  const { number: transaction, checksum } = position?.() ?? beginning;
  const { number, checksum: chain } = past?.() ?? {};
  return {
    closed: 0,
    generation,
    transaction,
    chain: hexOf(checksum),
    past: number === undefined ? null : { number, checksum: chain },
    moment: moment?.() ?? {},
  };
}
