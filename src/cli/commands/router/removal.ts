import { pluralize } from "../../../base/pluralize.ts";
import type { FlagSpec } from "../../../derive/command-spec.ts";
import type { Context } from "../../command.ts";
import { confirmName, confirmYes } from "../../prompt/confirm.ts";

/** Up to so many removals need a yes; more need the name of the cluster (DECISIONS.md, L8). */
const manyRows = 10_000;

export const removalFlag = {
  flag: "confirm",
  type: "text",
  placeholder: "ID",
  description: `Confirm the cluster ID, to remove more than ${manyRows / 1_000},000 rows or rows of a pipe`,
} as const satisfies FlagSpec;

/** Asks before identifiers are removed. Of a pipe nobody knows how many there are: it counts as many. */
export async function confirmRemoval(
  of: { readonly noun: string; readonly cluster: string; readonly rows: number | undefined },
  given: string | undefined,
  context: Context,
): Promise<void> {
  const { noun, cluster, rows } = of;
  const what = rows === undefined ? `all piped ${noun}s` : pluralize(rows, noun);
  const action = `Remove ${what} from ${cluster}`;
  const isMany = rows === undefined || rows > manyRows;
  if (isMany || given !== undefined) return confirmName(action, cluster, given, context);
  return confirmYes(action, context);
}
