import { keyedTables, lookUpOwners } from "../../../../api/emulator/owners.ts";
import { showClusterClient, showClusterEmail } from "../../../../api/router/mapping-tables.ts";
import { runConcurrently } from "../../../../base/concurrency.ts";
import { groupBy } from "../../../../base/object.ts";
import { pluralize } from "../../../../base/text.ts";
import type { Client } from "../../../../client/client.ts";
import { replaceMissing } from "../../../../client/errors.ts";
import type { Context } from "../../../command.ts";
import { isEmulator } from "../../../connection/target.ts";
import { UsageError } from "../../../process/failure.ts";
import { canPrompt, confirmYes } from "../../../prompt/terminal.ts";
import type { RowBatch } from "./input/batches.ts";
import { type BulkJobKind, offboardKinds } from "./job-kinds.ts";
import type { JobRun } from "./log/jobs.ts";
import type { RowFailure } from "./log/result-lines.ts";

/** Cluster of each identifier: null if it has none, undefined if the service has no look-up for its kind. */
type ClusterMap = ReadonlyMap<string, string | null | undefined>;

type ClusterLookup = (values: readonly string[]) => Promise<ClusterMap>;

/** Tables with a public look-up on every router. */
const publicTables: readonly string[] = ["cluster_emails", "cluster_clients"];

/** Creates a look-up for the identifiers of a job. Returns undefined if the service supports none of them. */
export async function createLookup({ table }: BulkJobKind, context: Context): Promise<ClusterLookup | undefined> {
  const isForEmulator = await isEmulator(context);
  if (table !== undefined && !publicTables.includes(table) && !isForEmulator) return undefined;
  const lookUp = await (isForEmulator ? createEmulatorLookup(context) : createPublicLookup(context));
  const tables =
    table === undefined
      ? Object.values(offboardKinds).map(({ table, field }) => ({ table, prefix: `${field} ` }))
      : [{ table, prefix: "" }];
  return async (values) => {
    const clusters = new Map<string, string | null | undefined>();
    for (const { table, prefix } of tables) {
      const own = [...new Set(values)].filter((value) => value.startsWith(prefix));
      const keys = own.map((value) => value.slice(prefix.length));
      const found = await lookUp(table, keys);
      for (const [i, value] of own.entries()) clusters.set(value, found[i]);
    }
    return clusters;
  };
}

export async function requireLookup(work: BulkJobKind, context: Context) {
  const findClusters = await createLookup(work, context);
  if (findClusters) return findClusters;
  throw new UsageError(`--verify cannot be used with ${work.name}: the service cannot look up ${work.noun}s`);
}

/** Records the clusters that lose identifiers, before sending. Returns them by the first row of each identifier. */
export async function recordMoves(
  { record, work, job }: JobRun,
  { index, rows }: RowBatch,
  values: readonly string[],
  findClusters: ClusterLookup,
): Promise<ReadonlyMap<number, string>> {
  const { toValue } = work.getKind(record);
  const clusters = await findClusters(values);
  // An earlier run may have moved some before it stopped. For these, the cluster that it recorded counts.
  const earlierMoves = job.unfinishedMoves.get(index) ?? [];
  const earlierClusters = new Map(earlierMoves.map(([input, from]) => [toValue(input), from]));
  const movedFrom = new Map<number, string>();
  const checkedValues = new Set<string>();
  for (const [position, value] of values.entries()) {
    const current = clusters.get(value);
    const previous = current === record.scope.cluster_id ? earlierClusters.get(value) : current;
    if (typeof previous === "string" && !checkedValues.has(value)) movedFrom.set(position, previous);
    checkedValues.add(value);
  }
  const moves = [...movedFrom].map(([position, from]) => [rows[position]!.text, from] as const);
  if (moves.length > 0) await job.recordMoves(index, moves);
  return movedFrom;
}

/** Adds the rows that are not in the expected cluster. Returns the number of rows without a look-up. */
export async function verifyRows(
  { record, work }: JobRun,
  values: readonly string[],
  failures: Map<number, RowFailure>,
  findClusters: ClusterLookup,
): Promise<number> {
  const clusters = await findClusters(values);
  let unverified = 0;
  for (const [position, value] of values.entries()) {
    const found = clusters.get(value);
    if (failures.has(position)) continue;
    if (found === undefined) unverified += 1;
    else if ((found === record.scope.cluster_id) !== (work.action === "map")) {
      const message = `${found === null ? "not mapped" : `mapped to ${found}`} when looked up`;
      failures.set(position, { code: "not_verified", message });
    }
  }
  return unverified;
}

/** Returns the cluster of each key in order, null if it has none. Returns nothing for a table without a look-up. */
type TableLookup = (table: string, keys: readonly string[]) => Promise<readonly (string | null)[]>;

/** Maximum number of keys in one request to an emulator (src/api/emulator/owners.ts). */
const maxKeys = 10_000;

/** Single requests for 100,000 identifiers would take a minute, so an emulator looks up many at a time. */
async function createEmulatorLookup(context: Context): Promise<TableLookup> {
  const client = await context.client("emulator", {});
  return async (name, keys) => {
    const table = keyedTables.find((candidate) => candidate === name)!;
    const clusters: (string | null)[] = [];
    for (let from = 0; from < keys.length; from += maxKeys) {
      const body = { table, keys: keys.slice(from, from + maxKeys) };
      const { cluster_ids } = await client.call(lookUpOwners, { body }, { repeatable: true });
      clusters.push(...cluster_ids);
    }
    return clusters;
  };
}

const maxLookupConnections = 8;

/** In a path, routers read an encoded slash as a slash, and clients resolve dots. */
const isPathSegment = (key: string): boolean => !key.includes("/") && key !== "." && key !== "..";

async function createPublicLookup(context: Context): Promise<TableLookup> {
  const client = await context.client("router", { connections: maxLookupConnections });
  return async (table, keys) => {
    if (!publicTables.includes(table)) return [];
    const clusters: (string | null)[] = [];
    await runConcurrently(keys.entries(), maxLookupConnections, async ([i, key]) => {
      if (isPathSegment(key)) clusters[i] = await lookUpPublicly(table, key, client);
    });
    context.signal.throwIfAborted();
    return clusters;
  };
}

/** Looks up an e-mail hash or a client ID on any router. Returns the cluster, or null if there is none. */
export async function lookUpPublicly(table: string, key: string, client: Client): Promise<string | null> {
  const owner =
    table === "cluster_emails"
      ? client.call(showClusterEmail, { params: { email_hash: key } })
      : client.call(showClusterClient, { params: { client_id: key } });
  return (await owner.catch(replaceMissing({ cluster_id: null }))).cluster_id;
}

/** Number of identifiers that are looked up before a job starts, each by one request. */
const maxLookups = 500;

/** Prompts the user at a terminal about moves of the first identifiers from other clusters. */
export async function confirmMoves(
  work: BulkJobKind,
  cluster: string,
  values: Iterable<string> | AsyncIterable<string>,
  context: Context,
): Promise<void> {
  const { host, globals } = context;
  if (work.action !== "map" || globals.yes || !canPrompt(host, globals) || (await isEmulator(context))) return;
  const sample = new Set<string>();
  let hasMore = false;
  for await (const value of values) {
    hasMore = sample.size === maxLookups && !sample.has(value);
    if (hasMore) break;
    sample.add(value);
  }
  const clusters = await (await createLookup(work, context))?.([...sample]);
  const moving = [...(clusters?.values() ?? [])].filter((from) => from != null && from !== cluster);
  if (moving.length === 0) return;
  const shares = [...groupBy(moving, (from) => from)].map(([from, all]) => `${all.length} of ${from}`);
  const moves = hasMore
    ? `${moving.length} of the first ${pluralize(sample.size, work.noun)}, and any later ones,`
    : pluralize(moving.length, work.noun);
  await confirmYes(`Move ${moves} to ${cluster} (${shares.join(", ")})`, context);
}
