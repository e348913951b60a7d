import type { Commit, Moment } from "../../history.ts";
import { toJournalChanges } from "../../live/journal-changes.ts";
import type { Change } from "../../live/state.ts";

/*
 * A line of a journal: `{"at":…,"cause":"request:12","ids":…,"changes":[…]}`. The changes stand last,
 * so that what stands before them is read without them.
 */

const changesAt = ',"changes":[';

export function commitLine(changes: readonly Change[], cause: string | undefined, { at, ids }: Moment): string {
  // Put together of texts: there is one for each commit, and an object for it would be felt there.
  const why = cause === undefined ? "" : `,"cause":${JSON.stringify(cause)}`;
  const drawn = ids === undefined ? "" : `,"ids":${JSON.stringify(ids)}`;
  return `{"at":${at ?? null}${why}${drawn},"changes":${JSON.stringify(toJournalChanges(changes))}}`;
}

/** What the text of a line says beside its changes; undefined where it has none. */
export function parseCommitLine(json: string): Omit<Commit, "number"> | undefined {
  const end = json.indexOf(changesAt);
  if (end === -1 || !json.startsWith('{"at":')) return undefined;
  const { at, cause, ids } = JSON.parse(`${json.slice(0, end)}}`);
  return { at: at ?? undefined, cause, ids };
}
