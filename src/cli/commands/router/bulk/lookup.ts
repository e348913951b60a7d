import { keyedTables, listOwners, lookUpOwners } from "../../../../api/emulator/owners.ts";
import type { ServiceError } from "../../../../client/errors.ts";
import type { Context } from "../../../command.ts";
import { isEmulator } from "../../../connection/target.ts";
import { UsageError } from "../../../process/failure.ts";
import { offboardKinds } from "./offboard-work.ts";
import { runConcurrently } from "./send.ts";
import type { BulkWork } from "./work.ts";

/** A table of the routing data, named as in svc router resolve. */
type Table = string;

/** Looks up the cluster of identifiers in their request form. */
export interface Lookup {
  /** The cluster of each identifier: null if it has none, undefined if the service has no look-up for its kind. */
  findClusters(values: readonly string[]): Promise<ReadonlyMap<string, string | null | undefined>>;
}

/** Maximum connections in addition to those of the mapping requests. */
const connections = 8;

/** Tables with a public look-up on every router. */
const publicTables: readonly Table[] = ["cluster_emails", "cluster_clients"];

/** Creates a look-up for the identifiers of a job. Returns undefined if the service supports none of them. */
export async function createLookup(work: BulkWork, context: Context): Promise<Lookup | undefined> {
  const isForEmulator = await isEmulator(context);
  if (work.table !== undefined && !publicTables.includes(work.table) && !isForEmulator) return undefined;
  const ask = await createQuery(context, isForEmulator);
  const { table } = work;
  const lookUp = isForEmulator && table !== undefined ? await createBatchLookup(table, context) : undefined;
  return {
    async findClusters(values) {
      if (lookUp) return lookUp([...new Set(values)]);
      const found = new Map<string, string | null | undefined>();
      const lookUpOne = async (value: string) => {
        const [table, key] = splitKey(work, value);
        found.set(value, await ask(table, key));
      };
      const listItems = async function* () {
        yield* new Set(values);
      };
      await runConcurrently(listItems(), connections, lookUpOne);
      context.signal.throwIfAborted();
      return found;
    },
  };
}

/** Number of identifiers in one look-up request. */
const maxKeys = 10_000;

/**
 * Creates a look-up in a table of an emulator, which accepts many identifiers at a time; single requests would take a
 * minute for 100,000. Returns undefined if identifiers are not the key of the table.
 */
async function createBatchLookup(name: Table, context: Context) {
  const table = keyedTables.find((keyed) => keyed === name);
  if (table === undefined) return undefined;
  const client = await context.client("emulator", {});
  return async (keys: readonly string[]): Promise<ReadonlyMap<string, string | null>> => {
    const found = new Map<string, string | null>();
    for (let from = 0; from < keys.length; from += maxKeys) {
      const some = keys.slice(from, from + maxKeys);
      const body = { table, keys: some };
      const { cluster_ids } = await client.call(lookUpOwners, { body }, { signal: context.signal, repeatable: true });
      for (const [at, key] of some.entries()) found.set(key, cluster_ids[at] ?? null);
    }
    return found;
  };
}

/** Creates the look-up, or throws the reason why there is none. */
export async function requireLookup(work: BulkWork, context: Context): Promise<Lookup> {
  const lookup = await createLookup(work, context);
  if (lookup) return lookup;
  throw new UsageError(`--verify cannot be used with ${work.name}: the service cannot look up ${work.noun}s`);
}

function splitKey(work: BulkWork, value: string): [table: Table, key: string] {
  if (work.table !== undefined) return [work.table, value];
  const space = value.indexOf(" ");
  const field = value.slice(0, space);
  return [Object.values(offboardKinds).find((kind) => kind.field === field)!.table, value.slice(space + 1)];
}

async function createQuery(context: Context, isForEmulator: boolean) {
  const [emails, clients] = await Promise.all([
    import("../../../../api/router/mapping-tables.ts"),
    import("../../../../api/router/mapping-tables.ts"),
  ]);
  const client = await context.client("router", { connections });
  const options = { signal: context.signal };
  const owners = isForEmulator ? listOwners : undefined;
  const control = owners && (await context.client("emulator", {}));
  return async (table: Table, key: string): Promise<string | null | undefined> => {
    if (table === "cluster_emails") {
      return toNullIfMissing(client.call(emails.showClusterEmail, { params: { email_hash: key } }, options));
    }
    if (table === "cluster_clients") {
      return toNullIfMissing(client.call(clients.showClusterClient, { params: { client_id: key } }, options));
    }
    if (!owners || !control) return undefined;
    const found = await control.call(owners, { query: { identifier: key } }, options);
    return found.find((owner) => owner.table === table)?.cluster_id ?? null;
  };
}

const toNullIfMissing = (asked: Promise<{ readonly cluster_id: string }>): Promise<string | null> =>
  asked.then(
    ({ cluster_id }) => cluster_id,
    (error: unknown) => {
      if ((error as Partial<ServiceError>).status === 404) return null;
      throw error;
    },
  );
