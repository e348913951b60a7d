import { SchemaMismatch } from "../../live/schema-mismatch.ts";
import type { Change, State } from "../../live/state.ts";
import type { Upgrade } from "../../live/versions.ts";
import { validRow } from "../document.ts";

/**
 * Applies what a line holds, all or none; rows come from outside, so they are validated first, unless they are trusted.
 * Fails with SchemaMismatch.
 */
export function applyChecked(state: State, changes: readonly Change[], upgrade: Upgrade, isTrusted = false): void {
  for (const change of changes.map((each) => checked(state, each, upgrade, isTrusted))) state.apply(change);
}

function checked(state: State, change: Change, upgrade: Upgrade, isTrusted: boolean): Change {
  const [kind, collection] = change;
  if (kind === "put" && isTrusted && state.rows.has(collection)) return change;
  if (kind === "put") return ["put", collection, validRow(state, upgrade, collection, change[2], "The row")];
  const known = kind === "next" || (kind === "delete" ? state.rows : state.mappings).has(collection);
  if (!known) throw new SchemaMismatch(`this version of svc has no collection ${collection}`);
  return change;
}
