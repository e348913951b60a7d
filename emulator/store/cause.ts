import * as z from "zod";
import { storedTime } from "./stored-time.ts";

/** Why something was written: the row of a request, a clock advance, or something that came due. */
export const CauseRow = z.strictObject({
  /** What it is, and its number: `request:12`, `advance:13`, `timer:7`. */
  id: z.string(),
  /** In a few words, without secrets: `contracts.send POST /api/v2.1/public/contracts/T-1/send/`. */
  what: z.string(),
  /** Virtual milliseconds. */
  at: storedTime(z.int()),
  /** Milliseconds on the wall; under --deterministic the virtual ones, so that the same calls leave the same bytes. */
  wall_at: storedTime(z.int()),
  /** The W3C trace that it belongs to. */
  trace: z.string(),
  /** What the caller was doing, where the trace comes from outside. */
  parent_span: z.string().nullable(),
  /** The cause that led to this one. */
  before: z.string().nullable(),
  /** The clock advance by which it came due; null: nobody moved time. */
  moved_by: z.string().nullable(),
});
export type CauseRow = Readonly<z.infer<typeof CauseRow>>;

/** Why a transaction is made. */
export interface Cause {
  readonly id: string;
  /** What led to it. */
  readonly before?: Cause | undefined;
  /** Whether it belongs to a state that was left: what it wants to change in another one is rejected. */
  isLeft?(): boolean;
  /**
   * Makes its row, when the first thing follows from it; `before` is the row of what led to it, where that is stored.
   * Absent: its row was made before.
   */
  row?(before: CauseRow | undefined): CauseRow;
}
