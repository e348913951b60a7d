import { isObject, toFields, tryParseJson } from "../../base/object.ts";
import { getHeader, parseJsonBody, type RecordedExchange } from "../exchange.ts";
import { editJson } from "../json-edit.ts";

/**
 * Creates the rows of a workspace from the exchanges of its caller. `base` provides rows of which the exchanges show
 * nothing. `at` is the position of the workspace.
 */
export function buildWorkspaceSeed(
  { clientId, clientSecret, exchanges }: RecordedCaller,
  at: number,
  clusterId: string,
  base: SeedRow,
): SeedRow {
  const succeeded = exchanges.filter(({ response }) => response.status < 300);
  const baseWorkspace = listSeedRows(base.workspaces)[0] ?? {};
  // The offset prevents collisions between workspaces.
  const idOffset = at * 100_000;
  const workspace_id = findWorkspaceId() ?? at + 1;
  const users = listUsers();
  const { hmac_key } = toFields(findLast("webhooks.hmac-key"));
  const types = listContractTypes();
  const workspace = {
    id: workspace_id,
    cluster_id: clusterId,
    name: "Replay",
    client_id: clientId,
    client_secret: clientSecret,
    acting_user_id: findActingUser(users),
    organization_types: listOrganizationTypes(),
    jurisdictions: listJurisdictions(),
    ...(typeof hmac_key === "string" && { hmac_key }),
  };
  return {
    workspaces: [workspace],
    users,
    roles: listRoles(),
    entities: listEntities(),
    contract_types: types,
    templates: listTemplates(types),
    workflows: listWorkflows(),
  };

  function findWorkspaceId(): number | undefined {
    const pattern = /"created_by_workspace":\s*(\d+)/;
    const found = exchanges.map(({ response }) => pattern.exec(response.body.toString("utf8"))?.[1]);
    return found.map(Number).find((id) => !Number.isNaN(id));
  }

  /** Copies the rows of the first workspace in the base seed to this workspace. */
  function listOwn(name: string): SeedRow[] {
    const rows = listSeedRows(base[name]).filter((row) => row.workspace_id === baseWorkspace.id);
    const move = ([key, value]: [string, unknown]): [string, unknown] => {
      if (key === "workspace_id") return [key, workspace_id];
      if ((key === "id" || /_id$/.test(key)) && typeof value === "number") return [key, value + idOffset];
      if (key === "roles" && Array.isArray(value)) return [key, value.map((item) => (item as number) + idOffset)];
      return [key, value];
    };
    return rows.map((row) => Object.fromEntries(Object.entries(row).map(move)));
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

  function findLast(operation: string, part = ""): unknown {
    return findAll(operation, part).at(-1);
  }

  function listUsers(): SeedRow[] {
    const lists = findAll("users.list");
    const users = new Map<unknown, SeedRow>();
    for (const user of lists.flatMap((body) => listSeedRows(body, "results"))) {
      const { id, roles, is_active } = user;
      users.set(id, {
        ...toUser(user),
        ...(Array.isArray(roles) && { roles: roles.map((role) => toFields(role).id) }),
        ...(typeof is_active === "boolean" && { is_active }),
      });
    }
    const isComplete = lists.some((body) => Number(toFields(body).total_results) <= users.size);
    for (const user of isComplete ? [] : findMentionedUsers())
      if (!users.has(user.id) && ![...users.values()].some(({ email }) => email === user.email))
        users.set(user.id, user);
    return users.size > 0 ? [...users.values()] : listOwn("users");
  }

  function toUser({ id, name, email, designation }: SeedRow): SeedRow {
    return { id, workspace_id, name, email, ...(typeof designation === "string" && { designation }) };
  }

  /** Finds users in responses with ID, name and e-mail address, and acting users in request headers. */
  function findMentionedUsers(): SeedRow[] {
    const found: SeedRow[] = [];
    const creators = new Map<string, string>();
    const walk = (value: unknown, key: string): void => {
      if (Array.isArray(value)) for (const item of value) walk(item, key);
      if (!isObject(value)) return;
      const isUser = typeof value.id === "number" && typeof value.name === "string" && typeof value.email === "string";
      if (isUser && /user|^created_by/.test(key)) found.push(toUser(value));
      const { created_by: by, created_by_user_email: byEmail = by, created_by_user_name: byName } = value;
      if (typeof byEmail === "string" && byEmail.includes("@"))
        creators.set(byEmail, typeof byName === "string" ? byName : (creators.get(byEmail) ?? byEmail.split("@")[0]!));
      for (const [inner, item] of Object.entries(value)) walk(item, inner);
    };
    for (const { response } of succeeded) walk(parseJsonBody(response), "");
    for (const [email, name] of creators) found.push(toUser({ id: 8_000_000 + found.length, name, email }));
    for (const [at, { request, response }] of exchanges.entries()) {
      const email = getHeader(request, "user-email");
      if (email !== undefined && response.status < 400)
        found.push(toUser({ id: 9_000_000 + at, name: email.split("@")[0], email }));
    }
    return found;
  }

  function findActingUser(users: readonly SeedRow[]): unknown {
    const creator = succeeded
      .filter(({ request }) => getHeader(request, "user-email") === undefined)
      .map(({ response }) =>
        /"created_by(?:_user_email)?":\s{0,2}"([^"@]{1,80}@[^"@]{1,80})"|"created_by_user":\s{0,2}\{"id":\s{0,2}(\d{1,15})/.exec(
          response.body.toString("utf8"),
        ),
      )
      .find((found) => found !== null);
    const found = users.find(({ id, email }) => creator && (email === creator[1] || String(id) === creator[2]));
    return (found ?? users[0])?.id;
  }

  function listRoles(): readonly SeedRow[] {
    const listed = findAll("users.roles").flatMap((body) => listSeedRows(body, "active_roles"));
    const rows = listed.map(({ id, name }) => ({ id, workspace_id, name }));
    return rows.length > 0 ? removeDuplicates(rows) : listOwn("roles");
  }

  function listOrganizationTypes(): readonly SeedRow[] {
    const listed = listSeedRows(findLast("organizations.types")).map(({ id, name, jurisdiction }) => ({
      id,
      name,
      ...(typeof jurisdiction === "string" && { jurisdiction }),
    }));
    const rows: SeedRow[] = listed.length > 0 ? listed : [...listSeedRows(baseWorkspace.organization_types)];
    for (const name of findSentValues("organization_type"))
      if (!rows.some((row) => row.name === name)) rows.push({ id: 900 + rows.length, name });
    return rows;
  }

  function listJurisdictions(): readonly SeedRow[] {
    const found = new Map<unknown, SeedRow>();
    for (const { jurisdiction } of findAll("organizations.entities").flatMap((body) => listSeedRows(body))) {
      const { id, name, code2 } = toFields(jurisdiction);
      if (typeof id === "number" && typeof name === "string" && typeof code2 === "string")
        found.set(code2, { id, name, iso_code: code2 });
    }
    for (const row of listSeedRows(baseWorkspace.jurisdictions))
      if (!found.has(row.iso_code)) found.set(row.iso_code, row);
    for (const code of findSentValues("jurisdiction_iso_code"))
      if (!found.has(code)) found.set(code, { id: 900 + found.size, name: code, iso_code: code });
    return [...found.values()];
  }

  function listEntities(): readonly SeedRow[] {
    const listed = listSeedRows(findLast("organizations.entities"));
    if (listed.length === 0) return listOwn("entities");
    return listed.map((row) => {
      const address = toFields(row.primary_address);
      const { line_one = "", city_name: city = "", state_name: state = "", zipcode = "" } = address;
      return {
        id: row.id,
        workspace_id,
        reference_id: row.reference_id,
        name: row.name,
        jurisdiction: toFields(row.jurisdiction).name ?? "",
        type: toFields(row.organization_type).name ?? "",
        is_primary: row.is_primary === true,
        ...(row.primary_address != null && {
          address: { line_one, city, state, zipcode, country: toFields(address.country).name ?? "" },
        }),
      };
    });
  }

  function listContractTypes(): readonly SeedRow[] {
    const listed = listSeedRows(findLast("contract-types.list"));
    const base = listOwn("contract_types");
    const routes = ["review", "sign"];
    const known = listed.map(({ id, name }) => {
      const row = base.find((one) => one.id === id);
      return { routes, ...row, id, workspace_id, name };
    });
    const rows = addSent(listed.length === 0 ? base : known, "contract_type_id", (id) => {
      return { id, workspace_id, name: `Type ${id}`, routes };
    });
    return rows.map((row) => {
      const form = findLast("contract-types.intake-form", `/contract_types/${row.id}/`);
      return Array.isArray(form) ? { ...row, intake_form: form.map(toQuestion) } : row;
    });
  }

  function listTemplates(types: readonly SeedRow[]): readonly SeedRow[] {
    const base = listOwn("templates");
    const listed = [
      ...findAll("templates.list").flatMap((body) => listSeedRows(body, "items")),
      ...findAll("templates.show").filter(isObject),
    ];
    const rows = removeDuplicates(listed.length === 0 ? base : listed.map((row) => createTemplate(row, base)));
    addSent(rows, "contract_template_id", (id) =>
      createTemplate({ id, name: `Template ${id}`, contract_type_id: types[0]?.id, tags: [] }, base),
    );
    return rows.map((row) => {
      const metadata = toFields(findLast("templates.metadata", `/templates/${row.id}/`));
      if (!Array.isArray(metadata.attributes)) return row;
      return {
        ...row,
        attributes: metadata.attributes.map(toQuestion),
        ...(typeof metadata.counter_party_kind === "string" && { counter_party_kind: metadata.counter_party_kind }),
      };
    });
  }

  function createTemplate({ id, name, contract_type_id, tags }: SeedRow, base: readonly SeedRow[]): SeedRow {
    return {
      ...base.find((row) => row.id === id),
      id,
      workspace_id,
      name,
      contract_type_id,
      ...(Array.isArray(tags) && { tags }),
    };
  }

  function listWorkflows(): readonly SeedRow[] {
    return addSent(listOwn("workflows"), "workflow_id", (id) => ({
      id,
      workspace_id,
      title: `Workflow ${id}`,
      type: "INTAKE_WORKFLOW",
      frozen_version: { id: id * 10 },
    }));
  }

  /** Finds the values of this field in accepted requests. */
  function findSentValues(field: string): ReadonlySet<unknown> {
    const values = new Set<unknown>();
    for (const { request } of succeeded) {
      const text = request.body.toString("utf8");
      if (!text.includes(field) || tryParseJson(text) === undefined) continue;
      editJson(text, {
        editString: ({ isKey, name, value }) => {
          if (!isKey && name === field) values.add(value);
          return value;
        },
        editNumber: ({ name, text: number }) => {
          if (name === field) values.add(Number(number));
          return number;
        },
      });
    }
    return values;
  }
}

const removeDuplicates = (rows: readonly SeedRow[]): SeedRow[] => [
  ...new Map(rows.map((row) => [row.id, row])).values(),
];

const questionKeys = ["variable", "display_label", "type", "required", "options", "default_value", "help_text"];

const toQuestion = (question: unknown): SeedRow =>
  Object.fromEntries(
    Object.entries(toFields(question)).filter(([key, value]) => questionKeys.includes(key) && value != null),
  );

export type SeedRow = Readonly<Record<string, unknown>>;

/** Returns the objects in a list, or in the list under a name. */
export const listSeedRows = (value: unknown, name?: string): readonly SeedRow[] => {
  const list = Array.isArray(value) ? value : name === undefined ? undefined : toFields(value)[name];
  return Array.isArray(list) ? list.filter(isObject) : [];
};

/** A workspace whose API key was accepted, with its exchanges. */
export interface RecordedCaller {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly exchanges: readonly RecordedExchange[];
}
