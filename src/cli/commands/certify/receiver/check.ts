import { type CheckFinding, failed, passed } from "../check.ts";
import {
  type DeliveryFactory,
  type EventOptions,
  isAccepted,
  type RawDelivery,
  type ReceiverResponse,
} from "./delivery.ts";
import type { MistakeName } from "./mistakes.ts";

export interface ReceiverCheck extends CheckReason {
  /** Stable ID for --only and --skip, such as `raw-body.spaced`. */
  readonly id: string;
  /** Behavior of a good receiver, in the present tense: "Accepts JSON with blanks". */
  readonly summary: string;
  readonly expects: "accept" | "reject" | "other";
  readonly requires?: "probe";
  /** Runs after all other checks, because it keeps the receiver busy. */
  readonly isLast?: true;
  readonly run: (run: CheckContext) => Promise<CheckFinding>;
}

export interface CheckReason {
  /** Confidence that the real service sends or requires this. */
  readonly basis: "specified" | "public" | "assumed";
  readonly reason: string;
  /** Likely mistake, unless a pattern over several checks explains the failure. */
  readonly mistake: MistakeName;
}

export interface CheckContext {
  readonly deliveries: DeliveryFactory;
  /** Creates the event of this check, or a further one, as compact JSON. */
  createEvent(changes?: EventOptions, further?: number): string;
  /** Creates a signed delivery of the event of this check. */
  createGenuine(changes?: EventOptions, further?: number): RawDelivery;
  /** Sends a delivery and records it for the report and for --keep. */
  send(delivery: RawDelivery): Promise<ReceiverResponse>;
  /** Duration of one delivery. Concurrent deliveries prove nothing if `isSlow` is true. */
  readonly pace: { readonly bestMs: number; readonly isSlow: boolean };
  /** Sends an event through the webhooks of the emulator, which fail for 155 virtual minutes. */
  retryLate(event: string): Promise<ReceiverResponse>;
  readonly probe: ReceiverProbe | undefined;
}

/** Output of the command of --probe, which shows what the receiver has stored. */
export interface ReceiverProbe {
  read(): Promise<string>;
  /** Waits for the first output that differs from `before`. Returns undefined if it does not change in time. */
  readChanged(before: string, waitMs?: number): Promise<string | undefined>;
  /** Waits until processing has ended. The wait depends on the duration of previous events. */
  readSettled(): Promise<string>;
  /** Reports whether the output equals `before` for the usual duration of an event. */
  staysSame(before: string): Promise<boolean>;
  /** Runs `work` with waits for late effects that are as long as those for a slow receiver. */
  withLongerWaits<T>(work: () => Promise<T>): Promise<T>;
}

export interface ReceiverExchange {
  readonly delivery: RawDelivery;
  readonly response: ReceiverResponse;
}

const maxShownReason = 100;

/** `reason` is the body of a rejection. Its first line is shown. */
export function describeResponse({ status, error }: ReceiverResponse, reason = ""): string {
  if (error) return status === undefined ? error.message : `status ${status}, but ${error.message}`;
  const line = reason.trim().split("\n")[0]!.slice(0, maxShownReason);
  return `status ${status}${line === "" || line.startsWith("<") ? "" : `: ${line}`}`;
}

/** Returns `passed` if the delivery was accepted, and a warning if the rest of the response is missing. */
export function assessResponse(response: ReceiverResponse): CheckFinding {
  if (!isAccepted(response)) return failed(describeResponse(response, response.body));
  const detail = describeResponse(response);
  return response.error === undefined ? passed(detail) : { result: "warning", detail };
}

export type RunCheck = ReceiverCheck["run"];

/** Creates a check of deliveries that the receiver must accept. */
export const accepts = (id: string, summary: string, reason: CheckReason, run: RunCheck): ReceiverCheck => ({
  ...{ id, summary, ...reason, expects: "accept", run },
});

export const specified = (reason: string, mistake: MistakeName): CheckReason => ({
  basis: "specified",
  reason,
  mistake,
});
export const documented = (reason: string, mistake: MistakeName): CheckReason => ({ basis: "public", reason, mistake });
export const assumed = (reason: string, mistake: MistakeName): CheckReason => ({ basis: "assumed", reason, mistake });
