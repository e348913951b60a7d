import type { LoggedRequest } from "../http/request-log/request-log.ts";
import type { CauseRow } from "../store/cause.ts";

/** What came of a request, as its line in the log has it. */
export type Answered = Pick<LoggedRequest, "id" | "at" | "wallAt" | "status" | "durationMs">;

/**
 * The answer to the request that a cause is; undefined where none is known. Rows of causes hold none: they are written
 * before it is given, and a second write for each would be felt.
 */
export type FindAnswer = (row: Pick<CauseRow, "id" | "at">) => Answered | undefined;
