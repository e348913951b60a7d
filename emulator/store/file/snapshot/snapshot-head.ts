import type { Position } from "../../../../src/files/log-line.ts";
import { StateRefused } from "../../port.ts";

/** What a snapshot says of itself and of the journals that follow it. */
export interface SnapshotHead {
  readonly format: number;
  /** Of the first journal that is not in it. */
  readonly generation: number;
  /** Whether it holds everything, so that no journal need follow it. A snapshot of format 1 does not say. */
  readonly closed: boolean | undefined;
  /** Up to which line of the journals it holds everything. A snapshot of format 1 does not say. */
  readonly position: Position | undefined;
}

/** Fails with StateRefused where a member is missing or of another kind. */
export function headOf(members: Readonly<Record<string, unknown>>): SnapshotHead {
  const { svc_state: format, generation = 0, closed, transaction, chain } = members;
  if (format === 1) return { format, generation: wholeNumber({ generation }), closed: undefined, position: undefined };
  if (closed !== 0 && closed !== 1) throw new StateRefused('"closed" is neither 0 nor 1');
  if (typeof chain !== "string" || !/^[0-9a-f]{8}$/.test(chain)) throw new StateRefused('"chain" is not a checksum');
  return {
    format: format as number,
    generation: wholeNumber({ generation }),
    closed: closed === 1,
    position: { number: wholeNumber({ transaction }), checksum: Number.parseInt(chain, 16) },
  };
}

function wholeNumber(member: Readonly<Record<string, unknown>>): number {
  const [[name, value]] = Object.entries(member) as [[string, unknown]];
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new StateRefused(`"${name}" is not a whole number`);
}
