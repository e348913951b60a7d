import { keyedTables, lookUpOwners } from "../../../../api/emulator/owners.ts";
import { showClusterClient, showClusterEmail } from "../../../../api/router/mapping-tables.ts";
import { runConcurrently } from "../../../../base/run-concurrently.ts";
import { pluralize } from "../../../../base/text.ts";
import type { Client } from "../../../../client/client.ts";
import { replaceMissing } from "../../../../client/errors.ts";
import type { Context } from "../../../command.ts";
import { isEmulator } from "../../../connection/target.ts";
import { UsageError } from "../../../process/failure.ts";
import { canPrompt, confirmYes } from "../../../prompt/confirm.ts";
import type { RowBatch } from "./input/batches.ts";
import type { JobRecord } from "./log/jobs.ts";
import type { BatchMoves } from "./log/log-file.ts";
import type { RejectedRange } from "./send.ts";
import { type BulkJobKind, offboardKinds } from "./work.ts";

/**
 * Returns the cluster of each identifier: null if it has none, undefined if the service has no look-up for its kind.
 */
type ClusterLookup = (values: readonly string[]) => Promise<ReadonlyMap<string, string | null | undefined>>;

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

async function createPublicLookup(context: Context): Promise<TableLookup> {
  const client = await context.client("router", { connections: maxLookupConnections });
  return async (table, keys) => {
    if (!publicTables.includes(table)) return [];
    const clusters: (string | null)[] = [];
    await runConcurrently(keys.entries(), maxLookupConnections, async ([i, key]) => {
      clusters[i] = await lookUpPublicly(table, key, client);
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

export async function requireLookup(work: BulkJobKind, context: Context): Promise<ClusterLookup> {
  const findClusters = await createLookup(work, context);
  if (findClusters) return findClusters;
  throw new UsageError(`--verify cannot be used with ${work.name}: the service cannot look up ${work.noun}s`);
}

/**
 * Creates a look-up of the owners of identifiers before they are mapped. Returns undefined if the look-up is not
 * requested or not possible.
 */
export async function createMoveLookup(record: JobRecord, work: BulkJobKind, context: Context) {
  const { results, scope } = record;
  if (work.action !== "map" || results !== "all") return undefined;
  const findClusters = await createLookup(work, context);
  if (!findClusters) return undefined;
  const { toValue } = work.getKind(record);
  /**
   * Returns the clusters that lose identifiers of a batch, by the position of the first row of each identifier. An
   * earlier run may have moved some before it stopped. For these, the cluster that it recorded counts.
   */
  return async (batch: RowBatch, earlierMoves: BatchMoves = []): Promise<ReadonlyMap<number, string>> => {
    const values = batch.getValues();
    const clusters = await findClusters(values);
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

export async function createVerification({ scope }: JobRecord, work: BulkJobKind, context: Context) {
  const findClusters = await requireLookup(work, context);
  /** Returns unexpected owners by row position, and the number of rows without a look-up. */
  return async (batch: RowBatch, rejectedRanges: readonly RejectedRange[]) => {
    const values = batch.getValues();
    const clusters = await findClusters(values);
    const mismatches = new Map<number, string>();
    let unverified = 0;
    for (const [position, value] of values.entries()) {
      if (rejectedRanges.some(({ from, to }) => position >= from && position < to)) continue;
      const cluster = clusters.get(value);
      if (cluster === undefined) unverified += 1;
      else if ((cluster === scope.cluster_id) !== (work.action === "map")) {
        mismatches.set(position, `${cluster === null ? "not mapped" : `mapped to ${cluster}`} when looked up`);
      }
    }
    return { mismatches, unverified };
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
  const sampleValues = [...new Set(values)].slice(0, maxLookups);
  const clusters = await (await createLookup(work, context))?.(sampleValues);
  const moving = [...(clusters?.values() ?? [])].flatMap((from) => (from == null || from === cluster ? [] : [from]));
  if (moving.length === 0) return;
  const names = [...new Set(moving)];
  const from = names.map((name) => `${moving.filter((item) => item === name).length} of ${name}`).join(", ");
  const isPart = sampleValues.length === maxLookups && values.length > maxLookups;
  const share = isPart ? ` (checked: the first ${sampleValues.length})` : "";
  await confirmYes(`Move ${pluralize(moving.length, work.noun)}${share} to ${cluster} (${from})`, context);
}
