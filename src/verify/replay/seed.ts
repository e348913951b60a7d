import { groupBy, isObject, lookupTable, omitUndefined, toFields, toRows } from "../../base/object.ts";
import { getHeader, parseJsonBody, type RecordedExchange } from "../exchange.ts";

type SeedRow = Readonly<Record<string, unknown>>;

/** Returns the objects in a list, or in the list under a name. */
const listSeedRows = (value: unknown, name?: string): SeedRow[] =>
  toRows(Array.isArray(value) || name === undefined ? value : toFields(value)[name]);

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

/**
 * Replaces values that have another type than those of the base seed, because the emulator rejects such a state. The
 * comparison then reports them.
 */
export function replaceMistypedValues(value: unknown, base: unknown): unknown {
  if (Array.isArray(base) && Array.isArray(value)) return value.map((item) => replaceMistypedValues(item, base[0]));
  if (!isObject(base) || !isObject(value)) return typeof value === typeof (base ?? value) ? value : base;
  const fields = Object.entries(value).map(([name, item]) => [name, replaceMistypedValues(item, base[name])] as const);
  return Object.fromEntries(fields);
}

/** Finds the workspaces whose key was accepted, with their exchanges. */
export function findCallers(exchanges: readonly RecordedExchange[]) {
  const accepted = exchanges.filter(
    ({ request, response }) => response.status !== 401 && getHeader(request, "client-id") !== undefined,
  );
  const callers = [...groupBy(accepted, ({ request }) => getHeader(request, "client-id")!)].map(([clientId, own]) => {
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

type Caller = ReturnType<typeof findCallers>[number];

/**
 * Creates the rows of a workspace from the exchanges of its caller. `base` provides rows of which the exchanges show
 * nothing. `at` is the position of the workspace.
 */
function buildWorkspaceSeed(
  caller: Caller,
  at: number,
  clusterId: string,
  base: SeedRow,
): Readonly<Record<string, readonly SeedRow[]>> {
  const sources = createSources(caller, at, base);
  const { workspace_id, findLast, listBase, listRecorded, addSent } = sources;
  const users = listUsers(sources);
  const contract_types = listContractTypes(sources);
  const { hmac_key } = toFields(findLast("webhooks.hmac-key"));
  const workspace = {
    id: workspace_id,
    cluster_id: clusterId,
    name: "Replay",
    client_id: caller.clientId,
    client_secret: caller.clientSecret,
    acting_user_id: findActingUser(sources, users),
    organization_types: listOrganizationTypes(sources),
    jurisdictions: listJurisdictions(sources),
    ...pick({ hmac_key }, "string", "hmac_key"),
  };
  return {
    workspaces: [workspace],
    users,
    roles: listRecorded("roles", "users.roles", "active_roles", ({ id, name }) => ({ id, workspace_id, name })),
    entities: listEntities(sources),
    contract_types,
    templates: listTemplates(sources, contract_types),
    workflows: addSent(listBase("workflows"), "workflow_id", (id) => {
      return { id, workspace_id, title: `Workflow ${id}`, type: "INTAKE_WORKFLOW", frozen_version: { id: id * 10 } };
    }),
  };
}

type SeedSources = ReturnType<typeof createSources>;

/** Creates the functions that read the exchanges of a caller and the rows of the base seed. */
function createSources({ exchanges }: Caller, at: number, base: SeedRow) {
  const succeeded = exchanges.filter(({ response }) => response.status < 300);
  const baseWorkspace = listSeedRows(base.workspaces)[0] ?? {};
  // The offset prevents collisions between workspaces.
  const idOffset = at * 100_000;
  const pattern = /"created_by_workspace":\s*(\d+)/;
  const foundIds = succeeded.map(({ response }) => Number(pattern.exec(response.body.toString("utf8"))?.[1]));
  const workspace_id = foundIds.find((id) => !Number.isNaN(id)) ?? at + 1;

  /** Copies the rows of the first workspace in the base seed to this workspace. */
  function listBase(name: string): SeedRow[] {
    const move = ([key, value]: [string, unknown]): [string, unknown] => {
      if (key === "workspace_id") return [key, workspace_id];
      if ((key === "id" || /_id$/.test(key)) && typeof value === "number") return [key, value + idOffset];
      if (key === "roles" && Array.isArray(value)) return [key, value.map((item) => (item as number) + idOffset)];
      return [key, value];
    };
    return listSeedRows(base[name])
      .filter((row) => row.workspace_id === baseWorkspace.id)
      .map((row) => Object.fromEntries(Object.entries(row).map(move)));
  }

  /** Returns the rows in the responses of a list, or the rows of the base seed if the list was not read. */
  function listRecorded(kind: string, operation: string, name: string | undefined, toRow: (row: SeedRow) => SeedRow) {
    const listed = findAll(operation).flatMap((body) => listSeedRows(body, name));
    return listed.length > 0 ? removeDuplicates(listed.map(toRow)) : listBase(kind);
  }

  /** Adds missing rows for the identifiers that accepted requests contain in this field. */
  function addSent(rows: SeedRow[], field: string, create: (id: number) => SeedRow): SeedRow[] {
    for (const id of findSentValues(field))
      if (typeof id === "number" && !rows.some((row) => row.id === id)) rows.push(create(id));
    return rows;
  }

  /** Returns the response bodies of successful requests to an operation, with a part of its target. */
  function findAll(operation: string, part = ""): unknown[] {
    return succeeded
      .filter(({ operation: id, request }) => id === operation && request.target.includes(part))
      .map(({ response }) => parseJsonBody(response));
  }

  const findLast = (operation: string, part = ""): unknown => findAll(operation, part).at(-1);

  /** Finds the values of this field in accepted requests. */
  function findSentValues(field: string): ReadonlySet<unknown> {
    const values = new Set<unknown>();
    for (const { request } of succeeded)
      visitFields(parseJsonBody(request), "", (key, value) => void (key === field && values.add(value)));
    return values;
  }

  return {
    ...{ exchanges, succeeded, baseWorkspace, workspace_id },
    ...{ listBase, listRecorded, addSent, findAll, findLast, findSentValues },
  };
}

function listUsers(sources: SeedSources): SeedRow[] {
  const { workspace_id, findAll, listBase } = sources;
  const lists = findAll("users.list");
  const found = new Map<unknown, SeedRow>();
  for (const user of lists.flatMap((body) => listSeedRows(body, "results"))) {
    const roles = Array.isArray(user.roles) && { roles: user.roles.map((role) => toFields(role).id) };
    found.set(user.id, { ...toUser(user, workspace_id), ...roles, ...pick(user, "boolean", "is_active") });
  }
  const isComplete = lists.some((body) => Number(toFields(body).total_results) <= found.size);
  for (const user of isComplete ? [] : findMentionedUsers(sources))
    if (!found.has(user.id) && ![...found.values()].some(({ email }) => email === user.email)) found.set(user.id, user);
  return found.size > 0 ? [...found.values()] : listBase("users");
}

function toUser(user: SeedRow, workspace_id: number): SeedRow {
  const { id, name, email } = user;
  return { id, workspace_id, name, email, ...pick(user, "string", "designation") };
}

/** Finds users in responses with ID, name and e-mail address, and acting users in request headers. */
function findMentionedUsers({ exchanges, succeeded, workspace_id }: SeedSources): SeedRow[] {
  const found: SeedRow[] = [];
  const creators = new Map<string, string>();
  for (const { response } of succeeded)
    visitFields(parseJsonBody(response), "", (key, value) => {
      if (!isObject(value)) return;
      const isUser = typeof value.id === "number" && typeof value.name === "string" && typeof value.email === "string";
      if (isUser && /user|^created_by/.test(key)) found.push(toUser(value, workspace_id));
      const { created_by: by, created_by_user_email: email = by, created_by_user_name: name } = value;
      if (typeof email === "string" && email.includes("@"))
        creators.set(email, typeof name === "string" ? name : (creators.get(email) ?? email.split("@")[0]!));
    });
  for (const [email, name] of creators) found.push(toUser({ id: 8_000_000 + found.length, name, email }, workspace_id));
  for (const [position, { request, response }] of exchanges.entries()) {
    const email = getHeader(request, "user-email");
    if (email !== undefined && response.status < 400)
      found.push(toUser({ id: 9_000_000 + position, name: email.split("@")[0], email }, workspace_id));
  }
  return found;
}

/** Finds the user of the API key, who created the objects of requests without an acting user. */
function findActingUser({ succeeded }: SeedSources, users: readonly SeedRow[]): unknown {
  const pattern =
    /"created_by(?:_user_email)?":\s{0,2}"([^"@]{1,80}@[^"@]{1,80})"|"created_by_user":\s{0,2}\{"id":\s{0,2}(\d{1,15})/;
  const [, creatorEmail, creatorId] =
    succeeded
      .filter(({ request }) => getHeader(request, "user-email") === undefined)
      .map(({ response }) => pattern.exec(response.body.toString("utf8")))
      .find((found) => found !== null) ?? [];
  return (users.find(({ id, email }) => email === creatorEmail || String(id) === creatorId) ?? users[0])?.id;
}

function listOrganizationTypes({ baseWorkspace, findLast, findSentValues }: SeedSources): SeedRow[] {
  const listed = listSeedRows(findLast("organizations.types"));
  const rows = (listed.length > 0 ? listed : listSeedRows(baseWorkspace.organization_types)).map(
    (row): SeedRow => ({ id: row.id, name: row.name, ...pick(row, "string", "jurisdiction") }),
  );
  for (const name of findSentValues("organization_type"))
    if (!rows.some((row) => row.name === name)) rows.push({ id: 900 + rows.length, name });
  return rows;
}

function listJurisdictions({ baseWorkspace, findAll, findSentValues }: SeedSources): SeedRow[] {
  const rows = new Map<unknown, SeedRow>();
  for (const { jurisdiction } of findAll("organizations.entities").flatMap((body) => listSeedRows(body))) {
    const { id, name, code2 } = toFields(jurisdiction);
    if (typeof id === "number" && typeof name === "string" && typeof code2 === "string")
      rows.set(code2, { id, name, iso_code: code2 });
  }
  for (const row of listSeedRows(baseWorkspace.jurisdictions)) if (!rows.has(row.iso_code)) rows.set(row.iso_code, row);
  for (const code of findSentValues("jurisdiction_iso_code"))
    if (!rows.has(code)) rows.set(code, { id: 900 + rows.size, name: code, iso_code: code });
  return [...rows.values()];
}

function listEntities({ workspace_id, listRecorded }: SeedSources): SeedRow[] {
  return listRecorded("entities", "organizations.entities", undefined, (row) => {
    const { id, reference_id, name } = row;
    const jurisdiction = toFields(row.jurisdiction).name ?? "";
    const type = toFields(row.organization_type).name ?? "";
    const entity = { id, workspace_id, reference_id, name, jurisdiction, type, is_primary: row.is_primary === true };
    if (row.primary_address == null) return entity;
    const address = toFields(row.primary_address);
    const { line_one = "", city_name: city = "", state_name: state = "", zipcode = "" } = address;
    const country = toFields(address.country).name ?? "";
    return { ...entity, address: { line_one, city, state, zipcode, country } };
  });
}

function listContractTypes({ workspace_id, findLast, listBase, listRecorded, addSent }: SeedSources): SeedRow[] {
  const own = listBase("contract_types");
  const routes = ["review", "sign"];
  const listed = listRecorded("contract_types", "contract-types.list", undefined, ({ id, name }) => {
    return { routes, ...own.find((row) => row.id === id), id, workspace_id, name };
  });
  const rows = addSent(listed, "contract_type_id", (id) => ({ id, workspace_id, name: `Type ${id}`, routes }));
  return rows.map((row) => {
    const form = findLast("contract-types.intake-form", `/contract_types/${row.id}/`);
    return Array.isArray(form) ? { ...row, intake_form: form.map(toQuestion) } : row;
  });
}

function listTemplates(
  { workspace_id, findAll, findLast, listBase, addSent }: SeedSources,
  contractTypes: readonly SeedRow[],
): SeedRow[] {
  const own = listBase("templates");
  const toTemplate = ({ id, name, contract_type_id, tags }: SeedRow): SeedRow => ({
    ...own.find((row) => row.id === id),
    ...{ id, workspace_id, name, contract_type_id },
    ...(Array.isArray(tags) && { tags }),
  });
  const lists = findAll("templates.list").flatMap((body) => listSeedRows(body, "items"));
  const listed = [...lists, ...findAll("templates.show").filter(isObject)].map(toTemplate);
  const rows = addSent(listed.length > 0 ? removeDuplicates(listed) : own, "contract_template_id", (id) =>
    toTemplate({ id, name: `Template ${id}`, contract_type_id: contractTypes[0]?.id, tags: [] }),
  );
  return rows.map((row) => {
    const metadata = toFields(findLast("templates.metadata", `/templates/${row.id}/`));
    if (!Array.isArray(metadata.attributes)) return row;
    const attributes = metadata.attributes.map(toQuestion);
    return { ...row, attributes, ...pick(metadata, "string", "counter_party_kind") };
  });
}

/** Returns a field as an object if it has a value of this type. */
const pick = (row: SeedRow, type: "string" | "boolean", name: string): SeedRow =>
  typeof row[name] === type ? { [name]: row[name] } : {};

const removeDuplicates = (rows: readonly SeedRow[]): SeedRow[] => [
  ...new Map(rows.map((row) => [row.id, row])).values(),
];

const questionKeys = ["variable", "display_label", "type", "required", "options", "default_value", "help_text"];

const toQuestion = (question: unknown): SeedRow =>
  Object.fromEntries(
    Object.entries(toFields(question)).filter(([key, value]) => questionKeys.includes(key) && value != null),
  );

/** Calls `visit` for all values of a document with their keys. An item of a list has the key of the list. */
function visitFields(value: unknown, key: string, visit: (key: string, value: unknown) => void): void {
  if (Array.isArray(value)) for (const item of value) visitFields(item, key, visit);
  else visit(key, value);
  if (isObject(value)) for (const [inner, item] of Object.entries(value)) visitFields(item, inner, visit);
}
