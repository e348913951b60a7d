import * as z from "zod";
import { storedTime } from "./stored-time.ts";

/** The cause of a write: the row of a request, a clock advance, or a scheduled entry that came due. */
export const CauseRow = z.strictObject({
  /** Its kind and its number: `request:12`, `advance:13`, `timer:7`. */
  id: z.string(),
  /** In a few words, without secrets: `contracts.send POST /api/v2.1/public/contracts/T-1/send/`. */
  what: z.string(),
  /** Virtual milliseconds. */
  at: storedTime(z.int()),
  /** Milliseconds on the wall; under --deterministic the virtual ones, so that the same calls leave the same bytes. */
  wall_at: storedTime(z.int()),
  /** The W3C trace that it belongs to. */
  trace: z.string(),
  /** The caller's span, if the trace comes from outside. */
  parent_span: z.string().nullable(),
  /** The cause that led to this one. */
  before: z.string().nullable(),
  /** The clock advance by which it came due; null: the clock was not advanced. */
  moved_by: z.string().nullable(),
});
export type CauseRow = Readonly<z.infer<typeof CauseRow>>;

/** Why a transaction is made. */
export interface Cause {
  readonly id: string;
  /** Its own cause. */
  readonly before?: Cause | undefined;
  /** Whether it belongs to a state that was replaced: its changes to another one are rejected. */
  isLeft?(): boolean;
  /**
   * Creates its row with its first effect; `before` is the row of its own cause, if that is stored. Absent: its row
   * exists already.
   */
  row?(before: CauseRow | undefined): CauseRow;
}
