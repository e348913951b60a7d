import type { CheckResult } from "../check.ts";
import type { Deliveries } from "./deliveries.ts";
import type { Probe } from "./probe.ts";
import type { Delivery, Reply } from "./sender.ts";

/** How sure it is that the real service sends this, or requires that. */
export type CheckBasis = "specified" | "public" | "assumed";

/** One requirement of a receiver. */
export interface Check {
  /** Stable, for --only and --skip: `raw-body.spaced`. */
  readonly id: string;
  /** Behavior of a good receiver, in the present tense: "Accepts JSON with blanks". */
  readonly summary: string;
  readonly expects: "accept" | "reject" | "other";
  readonly basis: CheckBasis;
  /** Why a receiver must do so. */
  readonly reason: string;
  /** Only what --probe prints shows it. */
  readonly requires?: "probe";
  /** How it is found out; omitted: by the only delivery. */
  readonly run: (run: CheckRun) => Promise<CheckFinding>;
}

export interface CheckFinding {
  readonly result: CheckResult;
  /** The observation, in a sentence without a full stop. */
  readonly detail: string;
}

/** Context of a check. */
export interface CheckRun {
  readonly deliveries: Deliveries;
  /** Sends it, and records it for the report and for --keep. */
  send(delivery: Delivery): Promise<Reply>;
  /** The number of the event that is this check's own, or of a further one. */
  getEventNumber(further?: number): number;
  /** Duration of one delivery, and whether it is too long for concurrent deliveries to prove anything. */
  readonly pace: { readonly bestMs: number; readonly isSlow: boolean };
  /** Sends an event through the webhooks of the emulator, which fail for 155 virtual minutes. */
  retryLate(number: number): Promise<{ readonly reply: Reply; readonly delivery: Delivery }>;
  readonly probe: Probe | undefined;
}

/** One delivery that was made, and its response. */
export interface Exchange {
  readonly delivery: Delivery;
  readonly reply: Reply;
}

export const describeReply = ({ status, error }: Reply): string =>
  error ? (status === undefined ? error.message : `status ${status}, but ${error.message}`) : `status ${status}`;
