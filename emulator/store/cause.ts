import * as z from "zod";
import { storedTime } from "./stored-time.ts";

/** The cause of a write: the row of a request, a clock advance, or a scheduled entry that came due. */
export const CauseRow = z.strictObject({
  /** Its kind and its number: `request:12`, `advance:13`, `timer:7`. */
  id: z.string(),
  /** A short description without secrets: `contracts.send POST /api/v2.1/public/contracts/T-1/send/`. */
  what: z.string(),
  /** Virtual milliseconds. */
  at: storedTime(z.int()),
  /** Wall-clock milliseconds. Under --deterministic they are virtual, so that the same calls store the same bytes. */
  wall_at: storedTime(z.int()),
  trace: z.string(),
  /** The caller's span, if the trace comes from outside. */
  parent_span: z.string().nullable(),
  before: z.string().nullable(),
  /** The clock advance that made it due. Null if the clock was not advanced. */
  moved_by: z.string().nullable(),
});
export type CauseRow = Readonly<z.infer<typeof CauseRow>>;

/** The reason for a transaction. */
export interface Cause {
  readonly id: string;
  readonly before?: Cause | undefined;
  /** Returns true if it belongs to a replaced state. Its changes to another state are rejected. */
  isStateReplaced?(): boolean;
  /** Creates its row with its first effect, from the stored row of the previous cause. Omitted if the row exists. */
  createRow?(before: CauseRow | undefined): CauseRow;
}
