import type { Change, State } from "../live/state.ts";
import { SchemaMismatchError, type Upgrade } from "../live/versions.ts";
import type { Commit, Moment } from "../port.ts";
import { validateRow } from "./document.ts";

/**
 * Applies all changes of a line or none. Rows come from outside, so they are validated first unless they are trusted.
 * Fails with SchemaMismatchError.
 */
export function applyChecked(state: State, changes: readonly Change[], upgrade: Upgrade, isTrusted = false): void {
  for (const change of changes.map((each) => checkChange(state, each, upgrade, isTrusted))) state.apply(change);
}

function checkChange(state: State, change: Change, upgrade: Upgrade, isTrusted: boolean): Change {
  const [kind, collection] = change;
  if (kind === "put" && isTrusted && state.rows.has(collection)) return change;
  if (kind === "put") return ["put", collection, validateRow(state, upgrade, collection, change[2], "The row")];
  const isKnown = kind === "next" || (kind === "delete" ? state.rows : state.mappings).has(collection);
  if (!isKnown) throw new SchemaMismatchError(`this version of svc has no collection ${collection}`);
  return change;
}

/*
 * A line of a journal: `{"at":…,"cause":"request:12","ids":…,"changes":[…]}`. The changes come last, so that the other
 * fields can be read without them.
 */

const changesMarker = ',"changes":[';

export const formatCommitLine = (changes: readonly Change[], cause: string | undefined, { at, ids }: Moment): string =>
  JSON.stringify({ at: at ?? null, cause, ids, changes });

/** Parses the fields of a line that precede its changes. Returns undefined if the line has none. */
export function parseCommitLine(json: string): Omit<Commit, "number"> | undefined {
  const end = json.indexOf(changesMarker);
  if (end === -1 || !json.startsWith('{"at":')) return undefined;
  const { at, cause, ids } = JSON.parse(`${json.slice(0, end)}}`);
  return { at: at ?? undefined, cause, ids };
}
