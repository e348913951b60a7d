import * as z from "zod";
import type { Position } from "../../../../src/files/log-line.ts";
import type { Moment } from "../../history.ts";
import { StateRefused } from "../../port.ts";

const WrittenPosition = z.object({ number: z.int(), checksum: z.int() });
const WrittenMoment = z.object({ at: z.int().optional(), ids: z.unknown().optional() });

/** What a base says of itself and of the journals that follow it. */
export interface BaseHead {
  readonly format: number;
  /** Of the first journal that is not in it. */
  readonly generation: number;
  /** Whether it holds everything, so that no journal need follow it. A base of format 1 does not say. */
  readonly closed: boolean | undefined;
  /** Up to which line of the journals it holds everything. A base of format 1 does not say. */
  readonly position: Position | undefined;
  /**
   * The line after which this state was: its own position, unless another state was put in here. Undefined where nothing
   * led to it, and in formats 1 and 2, whose bases were no state of one moment.
   */
  readonly past: Position | undefined;
  /** When it was written. */
  readonly moment: Moment;
}

/** Fails with StateRefused where a member is missing or of another kind. */
export function headOf(members: Readonly<Record<string, unknown>>): BaseHead {
  const { svc_state: format, generation = 0, closed, transaction, chain, past, moment } = members;
  if (format === 1)
    return {
      format,
      generation: wholeNumber({ generation }),
      closed: undefined,
      position: undefined,
      past: undefined,
      moment: {},
    };
  if (closed !== 0 && closed !== 1) throw new StateRefused('"closed" is neither 0 nor 1');
  if (typeof chain !== "string" || !/^[0-9a-f]{8}$/.test(chain)) throw new StateRefused('"chain" is not a checksum');
  return {
    format: format as number,
    generation: wholeNumber({ generation }),
    closed: closed === 1,
    position: { number: wholeNumber({ transaction }), checksum: Number.parseInt(chain, 16) },
    past: WrittenPosition.safeParse(past).data,
    moment: WrittenMoment.safeParse(moment).data ?? {},
  };
}

/** How much of a base is looked at for what it says of itself. */
export const headLength = 64 * 1024;

/** What the first lines of a base say of it, without reading the rest; undefined where they are none. */
export function headIn(firstBlock: string): BaseHead | undefined {
  const members = firstBlock.slice(0, firstBlock.indexOf(',\n"sequences": '));
  try {
    return headOf(JSON.parse(`${members}}`));
  } catch {
    return undefined;
  }
}

function wholeNumber(member: Readonly<Record<string, unknown>>): number {
  const [[name, value]] = Object.entries(member) as [[string, unknown]];
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new StateRefused(`"${name}" is not a whole number`);
}
