import { createHash } from "node:crypto";
import * as z from "zod";
import { addFault, type FaultRule } from "../../src/api/emulator/faults.ts";
import type { PostResult } from "../http/outgoing/webhook-sender.ts";
import type { Cause } from "../store/cause.ts";

/** A fault as it stands: its rule, and how often it was met. */
export interface ScriptedFault {
  readonly id: number;
  readonly rule: FaultRule;
  /** What scripted it; a snapshot does not keep that. */
  readonly cause: Cause | undefined;
  matched: number;
  hit: number;
}

/** What becomes of the next requests and attempts, as plain data. */
export const StoredFaults = z.strictObject({
  faults: z.array(z.strictObject({ id: z.int(), rule: addFault.request.body.schema, matched: z.int(), hit: z.int() })),
  last_id: z.int(),
  put_off: z.array(z.string()),
});
export type StoredFaults = z.infer<typeof StoredFaults>;

/** The faults of one emulator, oldest first, in memory. Ids begin again from 1 after `clear`. */
export class Faults {
  #faults: ScriptedFault[] = [];
  #lastId = 0;
  /** Attempts that a fault has put off: when they come due again they are sent, whatever faults there are. */
  readonly putOff = new Set<string>();
  readonly #watchers = new Set<() => void>();

  add(rule: FaultRule, cause?: Cause): ScriptedFault {
    this.#lastId += 1;
    const fault = { id: this.#lastId, rule, cause, matched: 0, hit: 0 };
    this.#faults.push(fault);
    this.#notify();
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
    this.#notify();
    return this.#faults.length < before;
  }

  clear(): void {
    this.#faults = [];
    this.#lastId = 0;
    this.putOff.clear();
    this.#notify();
  }

  /** All of it as it is now, hits included; `takeOver` goes on from there. */
  toStored(): StoredFaults {
    const faults = this.#faults.map(({ id, rule, matched, hit }) => ({ id, rule, matched, hit }));
    return { faults, last_id: this.#lastId, put_off: [...this.putOff] };
  }

  replaceState({ faults, last_id, put_off }: StoredFaults): void {
    this.clear();
    this.#faults = faults.map((fault) => ({ ...fault, cause: undefined }));
    this.#lastId = last_id;
    for (const attempt of put_off) this.putOff.add(attempt);
  }

  /**
   * The oldest fault that matches and hits. Counts for all that match, so it must be asked once for each request or
   * attempt.
   */
  recordMatch(matches: (rule: FaultRule) => boolean): ScriptedFault | undefined {
    let met: ScriptedFault | undefined;
    for (const fault of this.#faults) {
      if (!matches(fault.rule)) continue;
      fault.matched += 1;
      this.#notify();
      if (met || !hits(fault)) continue;
      fault.hit += 1;
      met = fault;
    }
    return met;
  }

  /** Calls when there are others, or one was met. Returns the function that ends it. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  #notify(): void {
    for (const changed of this.#watchers) changed();
  }
}

const hits = ({ rule, matched, hit }: ScriptedFault): boolean =>
  matched >= rule.nth && (rule.count === undefined || hit < rule.count) && drawn(rule.seed, matched) < rule.chance;

/** A number from 0 up to but not 1, the same for the same seed and turn. */
const drawn = (seed: number, turn: number): number =>
  createHash("sha256").update(`${seed}/${turn}`).digest().readUInt32BE(0) / 2 ** 32;

/** What a script may go by when it chooses an attempt. */
export interface PendingAttempt {
  readonly delivery: { readonly id: number };
  /** Of the attempt, from 1. */
  readonly number: number;
  readonly resend: boolean;
  readonly event: { readonly activity: string; readonly contract_id?: number | null | undefined };
  readonly subscription: { readonly id: number; readonly url: string };
}

/** What is about to be signed and sent. */
export interface OutgoingMessage {
  readonly body: Uint8Array;
  readonly hmacKey: string;
  /** Sent in the place of `body`, which is signed nevertheless. */
  readonly sent?: Uint8Array;
}

/** How an attempt goes that is interfered with: with the way to send, which may be used twice or not at all. */
export type SendAttempt = (
  message: OutgoingMessage,
  send: (message: OutgoingMessage) => Promise<PostResult>,
) => Promise<PostResult>;

/** An attempt is put off by so much virtual time, or behind the next one of its subscription, if that is sooner. */
export interface Postponement {
  readonly byMs: number;
  readonly behindNext: boolean;
}

/** What is done to an attempt, in a word, and what scripted that. */
export interface AppliedFault {
  readonly effect: string;
  readonly cause: Cause | undefined;
}

/** Scripted trouble on the way out: asked once, when an attempt is about to begin. Undefined: it goes as it should. */
export type FaultInterceptor = (
  about: PendingAttempt,
) => (AppliedFault & ({ readonly putOff: Postponement } | { readonly send: SendAttempt })) | undefined;
