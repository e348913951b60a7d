import { keyedTables, lookUpOwners } from "../../../../api/emulator/owners.ts";
import { showClusterClient, showClusterEmail } from "../../../../api/router/mapping-tables.ts";
import { runConcurrently } from "../../../../base/run-concurrently.ts";
import { pluralize } from "../../../../base/text.ts";
import type { Client } from "../../../../client/client.ts";
import { ServiceError } from "../../../../client/errors.ts";
import type { Context } from "../../../command.ts";
import { isEmulator } from "../../../connection/target.ts";
import { UsageError } from "../../../process/failure.ts";
import { canPrompt, confirmYes } from "../../../prompt/confirm.ts";
import type { RowBatch } from "./input/batches.ts";
import type { JobRecord } from "./log/jobs.ts";
import type { BatchMoves } from "./log/log-file.ts";
import type { RejectedRange } from "./send.ts";
import { type BulkJobKind, offboardKinds, splitOffboardValue } from "./work.ts";

export interface ClusterLookup {
  /**
   * Returns the cluster of each identifier: null if it has none, undefined if the service has no look-up for its kind.
   */
  findClusters(values: readonly string[]): Promise<ReadonlyMap<string, string | null | undefined>>;
}

const maxLookupConnections = 8;

/** Tables with a public look-up on every router. */
const publicTables: readonly string[] = ["cluster_emails", "cluster_clients"];

/**
 * Returns the cluster of each key of a table, in the order of the keys: null if it has none. Returns nothing for a
 * table without a look-up.
 */
type TableLookup = (table: string, keys: readonly string[]) => Promise<readonly (string | null)[]>;

/** Creates a look-up for the identifiers of a job. Returns undefined if the service supports none of them. */
export async function createLookup({ table }: BulkJobKind, context: Context): Promise<ClusterLookup | undefined> {
  const isForEmulator = await isEmulator(context);
  if (table !== undefined && !publicTables.includes(table) && !isForEmulator) return undefined;
  const lookUp = await (isForEmulator ? createEmulatorLookup(context) : createPublicLookup(context));
  return {
    async findClusters(values) {
      const clustersByValue = new Map<string, string | null | undefined>();
      const distinct = [...new Set(values)];
      if (table !== undefined) return zip(distinct, await lookUp(table, distinct));
      for (const { field, table } of Object.values(offboardKinds)) {
        const valuesOfField = distinct.filter((value) => splitOffboardValue(value)[0] === field);
        const clusters = await lookUp(
          table,
          valuesOfField.map((value) => splitOffboardValue(value)[1]),
        );
        for (const [value, cluster] of zip(valuesOfField, clusters)) clustersByValue.set(value, cluster);
      }
      return clustersByValue;
    },
  };
}

const zip = <T>(values: readonly string[], results: readonly T[]): Map<string, T | undefined> =>
  new Map(values.map((value, i) => [value, results[i]]));

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
      const { cluster_ids } = await client.call(lookUpOwners, { body }, { signal: context.signal, repeatable: true });
      clusters.push(...cluster_ids);
    }
    return clusters;
  };
}

async function createPublicLookup(context: Context): Promise<TableLookup> {
  const client = await context.client("router", { connections: maxLookupConnections });
  return async (table, keys) => {
    if (!publicTables.includes(table)) return [];
    const clusters: (string | null)[] = [];
    await runConcurrently(keys.entries(), maxLookupConnections, async ([i, key]) => {
      clusters[i] = await lookUpPublicly(table, key, client, context.signal);
    });
    context.signal.throwIfAborted();
    return clusters;
  };
}

/** Looks up an e-mail hash or a client ID on any router. Returns the cluster, or null if there is none. */
export async function lookUpPublicly(
  table: string,
  key: string,
  client: Client,
  signal: AbortSignal,
): Promise<string | null> {
  const owner =
    table === "cluster_emails"
      ? client.call(showClusterEmail, { params: { email_hash: key } }, { signal })
      : client.call(showClusterClient, { params: { client_id: key } }, { signal });
  return owner.then(
    ({ cluster_id }) => cluster_id,
    (error: unknown) => {
      if (error instanceof ServiceError && error.status === 404) return null;
      throw error;
    },
  );
}

export async function requireLookup(work: BulkJobKind, context: Context): Promise<ClusterLookup> {
  const lookup = await createLookup(work, context);
  if (lookup) return lookup;
  throw new UsageError(`--verify cannot be used with ${work.name}: the service cannot look up ${work.noun}s`);
}

/**
 * Creates a look-up of the owners of identifiers before they are mapped. Returns undefined if the look-up is not
 * requested or not possible.
 */
export async function createMoveLookup(record: JobRecord, work: BulkJobKind, context: Context) {
  const { results, scope } = record;
  if (work.action !== "map" || results !== "all") return undefined;
  const lookup = await createLookup(work, context);
  if (!lookup) return undefined;
  /**
   * Returns the clusters that lose identifiers of a batch, by the position of the first row of each identifier. An
   * earlier run may have moved some before it stopped. For these, the cluster that it recorded counts.
   */
  return async (batch: RowBatch, earlierMoves: BatchMoves = []): Promise<ReadonlyMap<number, string>> => {
    const values = batch.getValues();
    const clusters = await lookup.findClusters(values);
    const { toValue } = work.getKind(record);
    const earlierClusters = new Map(earlierMoves.map(([input, cluster]) => [toValue(input), cluster]));
    const checkedValues = new Set<string>();
    const previousClusters = new Map<number, string>();
    for (const [position, value] of values.entries()) {
      const current = clusters.get(value);
      const previous = current === scope.cluster_id ? earlierClusters.get(value) : current;
      if (checkedValues.has(value) || typeof previous !== "string") continue;
      checkedValues.add(value);
      previousClusters.set(position, previous);
    }
    return previousClusters;
  };
}

/** Returns the inputs at these positions of a batch, with the clusters that lose them. */
export function listMoves({ getRows }: RowBatch, movedFrom: ReadonlyMap<number, string>): BatchMoves {
  const rows = getRows();
  return [...movedFrom].map(([position, cluster]) => [rows[position]!.text, cluster]);
}

export async function createVerification({ scope }: JobRecord, work: BulkJobKind, context: Context) {
  const lookup = await requireLookup(work, context);
  /** Returns unexpected owners by row position, and the number of rows without a look-up. */
  return async (batch: RowBatch, rejectedRanges: readonly RejectedRange[]) => {
    const values = batch.getValues();
    const clusters = await lookup.findClusters(values);
    const mismatches = new Map<number, string>();
    let unverifiedCount = 0;
    for (const [position, value] of values.entries()) {
      if (rejectedRanges.some(({ from, to }) => position >= from && position < to)) continue;
      const cluster = clusters.get(value);
      if (cluster === undefined) unverifiedCount += 1;
      else if ((cluster === scope.cluster_id) !== (work.action === "map")) {
        mismatches.set(position, `${cluster === null ? "not mapped" : `mapped to ${cluster}`} when looked up`);
      }
    }
    return { mismatches, unverified: unverifiedCount };
  };
}

/** Number of identifiers that are looked up before a job starts, each by one request. */
export const maxLookups = 500;

export const mayAskAboutMoves = ({ action }: BulkJobKind, { host, globals }: Context): boolean =>
  action === "map" && !globals.yes && canPrompt(host, globals);

/** Prompts the user at a terminal about moves from other clusters. Identifiers are in their request form. */
export async function askAboutMoves(
  work: BulkJobKind,
  cluster: string,
  values: readonly string[],
  context: Context,
): Promise<void> {
  if (!mayAskAboutMoves(work, context) || (await isEmulator(context))) return;
  const lookup = await createLookup(work, context);
  if (!lookup) return;
  const sampleValues = [...new Set(values)].slice(0, maxLookups);
  const clusters = await lookup.findClusters(sampleValues);
  const counts = new Map<string, number>();
  for (const from of clusters.values()) {
    if (typeof from === "string" && from !== cluster) counts.set(from, (counts.get(from) ?? 0) + 1);
  }
  if (counts.size === 0) return;
  const movingCount = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const from = [...counts].map(([name, count]) => `${count} of ${name}`).join(", ");
  const share =
    sampleValues.length === maxLookups && values.length > maxLookups
      ? ` (checked: the first ${sampleValues.length})`
      : "";
  await confirmYes(`Move ${pluralize(movingCount, work.noun)}${share} to ${cluster} (${from})`, context);
}
