import { lookupTable, omitUndefined, toFields } from "../../base/object.ts";
import { getHeader, parseJsonBody, type RecordedExchange } from "../exchange.ts";
import { buildWorkspaceSeed, listSeedRows, type RecordedCaller, type SeedRow } from "./workspace-seed.ts";

/**
 * Creates the initial state of a replay: the workspaces, users, templates and other rows that a corpus mentions.
 * `base`, the default seed of the emulator, provides the remaining rows.
 */
export function buildReplaySeed(exchanges: readonly RecordedExchange[], base: SeedRow) {
  const callers = findCallers(exchanges);
  const [firstCluster] = listSeedRows(base.clusters);
  const clusters = findClusters(exchanges, String(firstCluster?.id ?? "eu-1"));
  const seeds = callers.map((caller, at) => buildWorkspaceSeed(caller, at, String(clusters[0]!.id), base));
  const mergeRows = (name: string) => seeds.flatMap((item) => listSeedRows(item[name]));
  return {
    time: new Date(exchanges[0]?.at ?? 0).toISOString(),
    clusters,
    workspaces: mergeRows("workspaces"),
    // Rows are sorted by ID, so that a different order of a list is detected.
    ...Object.fromEntries(
      ["users", "roles", "entities", "contract_types", "templates", "workflows"].map((name) => [
        name,
        mergeRows(name).toSorted((a, b) => Number(a.id) - Number(b.id)),
      ]),
    ),
    mappings: findMappings(exchanges),
  };
}

/** Finds the workspaces whose key was accepted, with their exchanges. */
export function findCallers(exchanges: readonly RecordedExchange[]): RecordedCaller[] {
  const accepted = exchanges.filter(
    ({ request, response }) => response.status !== 401 && getHeader(request, "client-id") !== undefined,
  );
  const ids = [...new Set(accepted.map(({ request }) => getHeader(request, "client-id")!))];
  const callers = ids.map((clientId) => {
    const own = accepted.filter(({ request }) => getHeader(request, "client-id") === clientId);
    return { clientId, clientSecret: getHeader(own[0]!.request, "client-secret") ?? "unknown", exchanges: own };
  });
  return callers.length > 0 ? callers : [{ clientId: "replay", clientSecret: "replay", exchanges: [] }];
}

/** Finds the clusters in requests and responses of the router. */
function findClusters(exchanges: readonly RecordedExchange[], fallback: string): SeedRow[] {
  const known = new Map<string, SeedRow>();
  for (const { operation, request, response } of exchanges) {
    if (operation === "clusters.list") {
      for (const { cluster_id: id, cluster_label: label } of listSeedRows(parseJsonBody(response), "clusters"))
        known.set(String(id), { id, label: label ?? id, key: known.get(String(id))?.key });
    }
    const key = getHeader(request, "x-cluster-key");
    const named = toFields(parseJsonBody(request)).cluster_id ?? /\/clusters\/([^/]+)\//.exec(request.target)?.[1];
    if (typeof named === "string" && response.status < 400)
      known.set(named, { label: named, ...known.get(named), id: named, ...(key && { key }) });
    // A cluster can be known only by a response, such as the cluster of a mapping.
    const answered = toFields(parseJsonBody(response)).cluster_id;
    if (typeof answered === "string" && !known.has(answered) && operation !== undefined && operation !== "catch-all")
      known.set(answered, { id: answered, label: answered });
  }
  assignKeys(exchanges, known, fallback);
  const rows = [...known.values()].map(omitUndefined);
  return rows.length > 0 ? rows : [{ id: fallback, label: fallback }];
}

/** Assigns keys that were accepted without a cluster in the request. Each key belongs to a cluster. */
function assignKeys(exchanges: readonly RecordedExchange[], known: Map<string, SeedRow>, fallback: string): void {
  const assigned = new Set([...known.values()].map(({ key }) => key));
  for (const { request, response } of exchanges) {
    const key = getHeader(request, "x-cluster-key");
    if (key === undefined || assigned.has(key) || response.status === 401 || response.status === 403) continue;
    const keyless = [...known.keys()].find((name) => known.get(name)!.key === undefined);
    const id = keyless ?? (known.size === 0 ? fallback : `cluster-${known.size + 1}`);
    known.set(id, { id, label: id, ...known.get(id), key });
    assigned.add(key);
  }
}

/** Finds mappings in responses to lookups, except mappings that an earlier exchange had created. */
function findMappings(exchanges: readonly RecordedExchange[]): SeedRow {
  const mapped = new Set<string>();
  const tables: Record<string, Record<string, string[]>> = Object.create(null);
  const lookups = lookupTable<readonly [table: string, field: string]>({
    "cluster-emails.show": ["cluster_emails", "email_hash"],
    "cluster-clients.show": ["cluster_clients", "client_id"],
  });
  for (const { operation = "", request, response } of exchanges) {
    if (/\.(?:un)?map/.test(operation))
      for (const list of Object.values(toFields(parseJsonBody(request))))
        for (const item of [list].flat()) mapped.add(String(item));
    const [table, field] = lookups[operation] ?? [];
    const { cluster_id: cluster, ...rest } = toFields(parseJsonBody(response));
    const identifier = field === undefined ? undefined : (rest[field] ?? request.target.split("/").at(-1));
    if (table === undefined || typeof cluster !== "string" || typeof identifier !== "string" || mapped.has(identifier))
      continue;
    tables[table] ??= Object.create(null) as Record<string, string[]>;
    tables[table][cluster] = [...(tables[table][cluster] ?? []), identifier];
    mapped.add(identifier);
  }
  return tables;
}
