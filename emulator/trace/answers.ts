import type { LoggedRequest, RequestLog } from "../http/request-log/request-log.ts";
import type { CauseRow } from "../store/cause.ts";

/** What came of a request, as its line in the log has it. */
export type Answered = Pick<LoggedRequest, "id" | "at" | "wallAt" | "status" | "durationMs" | "fault">;

/** The answer to the request that a cause is; undefined where none is known. */
export type FindAnswer = (row: Pick<CauseRow, "id" | "at">) => Answered | undefined;

/**
 * What the request log still has. Rows of causes hold no answer: they are written before it is given, and a second write
 * for each would be felt. Under
 * `deterministic` no duration is told, for it differs from run to run.
 */
export function answersIn(log: RequestLog, { deterministic }: { readonly deterministic: boolean }): FindAnswer {
  let known: Map<string, Answered> | undefined;
  return (row) => {
    known ??= new Map(log.list().map((entry) => [keyOf({ id: `request:${entry.id}`, at: entry.at }), entry]));
    const answered = known.get(keyOf(row));
    return answered && deterministic ? { ...answered, durationMs: 0 } : answered;
  };
}

/** Numbers are given anew where another state was put in. */
const keyOf = ({ id, at }: Pick<CauseRow, "id" | "at">): string => `${id} ${at}`;
