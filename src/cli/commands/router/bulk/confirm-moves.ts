import { pluralize } from "../../../../base/text.ts";
import type { Context } from "../../../command.ts";
import { isEmulator } from "../../../connection/target.ts";
import { canPrompt, confirmYes } from "../../../prompt/confirm.ts";
import type { InputSource } from "./input/bytes.ts";
import { readRows } from "./input/rows.ts";
import { createLookup } from "./lookup.ts";
import type { JobRequest } from "./plan.ts";
import type { BulkWork } from "./work.ts";

/** Number of identifiers that are looked up before a job starts, each by one request. */
const maxLookups = 500;

/** Asks the user at a terminal whether the identifiers in the first rows of a file may move. */
export async function confirmMoves(request: JobRequest, source: InputSource, context: Context): Promise<void> {
  if (!mayAskAboutMoves(request.work, context)) return;
  const { findProblem, toValue } = request.work.getKind(request);
  const values = new Set<string>();
  for await (const { texts, problems } of readRows(source.open(), request)) {
    for (const [i, text] of texts.entries()) {
      if (text !== "" && !problems?.has(i) && findProblem(text) === undefined) values.add(toValue(text));
    }
    if (values.size > maxLookups) break;
  }
  await askAboutMoves(request.work, request.scope.cluster_id!, [...values], context);
}

/** Asks the same about identifiers in their request form. */
export async function askAboutMoves(
  work: BulkWork,
  cluster: string,
  values: readonly string[],
  context: Context,
): Promise<void> {
  if (!mayAskAboutMoves(work, context) || (await isEmulator(context))) return;
  const lookup = await createLookup(work, context);
  if (!lookup) return;
  const sample = [...new Set(values)].slice(0, maxLookups);
  const clusters = await lookup.findClusters(sample);
  const counts = new Map<string, number>();
  for (const from of clusters.values()) {
    if (typeof from === "string" && from !== cluster) counts.set(from, (counts.get(from) ?? 0) + 1);
  }
  if (counts.size === 0) return;
  const movingCount = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const from = [...counts].map(([name, count]) => `${count} of ${name}`).join(", ");
  const share = sample.length === maxLookups && values.length > maxLookups ? ` of the first ${sample.length}` : "";
  await confirmYes(`Move ${pluralize(movingCount, work.noun)}${share} to ${cluster} (${from})`, context);
}

const mayAskAboutMoves = ({ action }: BulkWork, { host, globals }: Context): boolean =>
  action === "map" && !globals.yes && canPrompt(host, globals);
