import { createHash } from "node:crypto";
import type { FaultRule } from "../../src/api/emulator/faults.ts";

/** A fault as it stands: its rule, and how often it was met. */
export interface ScriptedFault {
  readonly id: number;
  readonly rule: FaultRule;
  matched: number;
  hit: number;
}

/** The faults of one emulator, oldest first, in memory. Ids begin again from 1 after `clear`. */
export class Faults {
  #faults: ScriptedFault[] = [];
  #lastId = 0;
  /** Attempts that a fault has put off: when they come due again they are sent, whatever faults there are. */
  readonly putOff = new Set<string>();

  add(rule: FaultRule): ScriptedFault {
    this.#lastId += 1;
    const fault = { id: this.#lastId, rule, matched: 0, hit: 0 };
    this.#faults.push(fault);
    return fault;
  }

  /** Whether nothing is scripted, and nothing waits that a fault has put off: the usual case, asked for every attempt. */
  get idle(): boolean {
    return this.#faults.length === 0 && this.putOff.size === 0;
  }

  list(): readonly Readonly<ScriptedFault>[] {
    return this.#faults;
  }

  /** False when there is none with that id. */
  remove(id: number): boolean {
    const before = this.#faults.length;
    this.#faults = this.#faults.filter((fault) => fault.id !== id);
    return this.#faults.length < before;
  }

  clear(): void {
    this.#faults = [];
    this.#lastId = 0;
    this.putOff.clear();
  }

  /**
   * The oldest fault that matches and hits. Counts for all that match, so it must be asked once for each request or
   * attempt.
   */
  meet(matches: (rule: FaultRule) => boolean): ScriptedFault | undefined {
    let met: ScriptedFault | undefined;
    for (const fault of this.#faults) {
      if (!matches(fault.rule)) continue;
      fault.matched += 1;
      if (met || !hits(fault)) continue;
      fault.hit += 1;
      met = fault;
    }
    return met;
  }
}

const hits = ({ rule, matched, hit }: ScriptedFault): boolean =>
  matched >= rule.nth && (rule.count === undefined || hit < rule.count) && drawn(rule.seed, matched) < rule.chance;

/** A number from 0 up to but not 1, the same for the same seed and turn. */
const drawn = (seed: number, turn: number): number =>
  createHash("sha256").update(`${seed}/${turn}`).digest().readUInt32BE(0) / 2 ** 32;
