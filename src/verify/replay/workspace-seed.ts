import { isObject, toFields, tryParseJson } from "../../base/object.ts";
import { getHeader, parseJsonBody, type RecordedExchange } from "../exchange.ts";
import { editJson } from "../json-edit.ts";

export class WorkspaceSeed {
  readonly #caller: RecordedCaller;
  readonly #id: number;
  readonly #clusterId: string;
  readonly #base: SeedRow;
  /** Offset of the IDs from the base seed, which prevents collisions between workspaces. */
  readonly #offset: number;

  constructor(caller: RecordedCaller, at: number, clusterId: string, base: SeedRow) {
    this.#caller = caller;
    this.#id = this.#findWorkspaceId() ?? at + 1;
    this.#clusterId = clusterId;
    this.#base = base;
    this.#offset = at * 100_000;
  }

  #findWorkspaceId(): number | undefined {
    const pattern = /"created_by_workspace":\s*(\d+)/;
    const found = this.#caller.exchanges.map(({ response }) => pattern.exec(response.body.toString("utf8"))?.[1]);
    const id = found.find((text) => text !== undefined);
    return id === undefined ? undefined : Number(id);
  }

  build(): SeedRow {
    const users = this.#listUsers();
    const { hmac_key } = toFields(this.#findLast("webhooks.hmac-key"));
    const workspace = {
      id: this.#id,
      cluster_id: this.#clusterId,
      name: "Replay",
      client_id: this.#caller.clientId,
      client_secret: this.#caller.clientSecret,
      acting_user_id: this.#findActingUser(users),
      organization_types: this.#listOrganizationTypes(),
      jurisdictions: this.#listJurisdictions(),
      ...(typeof hmac_key === "string" && { hmac_key }),
    };
    const types = this.#listContractTypes();
    return {
      workspaces: [workspace],
      users,
      roles: this.#listRoles(),
      entities: this.#listEntities(),
      contract_types: types,
      templates: this.#listTemplates(types),
      workflows: this.#listWorkflows(),
    };
  }

  get #baseWorkspace(): SeedRow {
    return listSeedRows(this.#base.workspaces)[0] ?? {};
  }

  /** Copies the rows of the first workspace in the base seed to this workspace. */
  #listOwn(name: string): SeedRow[] {
    const rows = listSeedRows(this.#base[name]).filter(({ workspace_id }) => workspace_id === this.#baseWorkspace.id);
    const move = ([key, value]: [string, unknown]): [string, unknown] => {
      if (key === "workspace_id") return [key, this.#id];
      if ((key === "id" || /_id$/.test(key)) && typeof value === "number") return [key, value + this.#offset];
      if (key === "roles" && Array.isArray(value)) return [key, value.map((item) => (item as number) + this.#offset)];
      return [key, value];
    };
    return rows.map((row) => Object.fromEntries(Object.entries(row).map(move)));
  }

  /** Adds missing rows for the identifiers that accepted requests contain in this field. */
  #addSent(rows: SeedRow[], field: string, create: (id: number) => SeedRow): SeedRow[] {
    for (const id of this.#findSentValues(field))
      if (typeof id === "number" && !rows.some((row) => row.id === id)) rows.push(create(id));
    return rows;
  }

  /** Returns the response body of the last successful request to an operation, with a part of its target. */
  #findLast(operation: string, part = ""): unknown {
    return this.#findAll(operation, part).at(-1);
  }

  #findAll(operation: string, part = ""): unknown[] {
    return this.#caller.exchanges
      .filter(
        ({ operation: id, request, response }) =>
          id === operation && response.status < 300 && request.target.includes(part),
      )
      .map(({ response }) => parseJsonBody(response));
  }

  #listUsers(): SeedRow[] {
    const lists = this.#findAll("users.list");
    const users = new Map<unknown, SeedRow>();
    for (const user of lists.flatMap((body) => listSeedRows(body, "results"))) {
      const { id, roles, is_active } = user;
      users.set(id, {
        ...this.#toUser(user),
        ...(Array.isArray(roles) && { roles: roles.map((role) => toFields(role).id) }),
        ...(typeof is_active === "boolean" && { is_active }),
      });
    }
    const isComplete = lists.some((body) => Number(toFields(body).total_results) <= users.size);
    for (const user of isComplete ? [] : this.#findMentionedUsers())
      if (!users.has(user.id) && ![...users.values()].some(({ email }) => email === user.email))
        users.set(user.id, user);
    return users.size > 0 ? [...users.values()] : this.#listOwn("users");
  }

  #toUser({ id, name, email, designation }: SeedRow): SeedRow {
    return { id, workspace_id: this.#id, name, email, ...(typeof designation === "string" && { designation }) };
  }

  /** Finds users in responses with ID, name and e-mail address, and acting users in request headers. */
  #findMentionedUsers(): SeedRow[] {
    const found: SeedRow[] = [];
    const creators = new Map<string, string>();
    const walk = (value: unknown, key: string): void => {
      if (Array.isArray(value)) for (const item of value) walk(item, key);
      if (!isObject(value)) return;
      const isUser = typeof value.id === "number" && typeof value.name === "string" && typeof value.email === "string";
      if (isUser && /user|^created_by/.test(key)) found.push(this.#toUser(value));
      const { created_by: by, created_by_user_email: byEmail = by, created_by_user_name: byName } = value;
      if (typeof byEmail === "string" && byEmail.includes("@"))
        creators.set(byEmail, typeof byName === "string" ? byName : (creators.get(byEmail) ?? byEmail.split("@")[0]!));
      for (const [inner, item] of Object.entries(value)) walk(item, inner);
    };
    for (const { response } of this.#caller.exchanges) if (response.status < 300) walk(parseJsonBody(response), "");
    for (const [email, name] of creators) found.push(this.#toUser({ id: 8_000_000 + found.length, name, email }));
    for (const [at, { request, response }] of this.#caller.exchanges.entries()) {
      const email = getHeader(request, "user-email");
      if (email !== undefined && response.status < 400)
        found.push(this.#toUser({ id: 9_000_000 + at, name: email.split("@")[0], email }));
    }
    return found;
  }

  #findActingUser(users: readonly SeedRow[]): unknown {
    const creator = this.#caller.exchanges
      .filter(({ request, response }) => getHeader(request, "user-email") === undefined && response.status < 300)
      .map(({ response }) =>
        /"created_by(?:_user_email)?":\s{0,2}"([^"@]{1,80}@[^"@]{1,80})"|"created_by_user":\s{0,2}\{"id":\s{0,2}(\d{1,15})/.exec(
          response.body.toString("utf8"),
        ),
      )
      .find((found) => found !== null);
    const found = users.find(({ id, email }) => creator && (email === creator[1] || String(id) === creator[2]));
    return (found ?? users[0])?.id;
  }

  #listRoles(): readonly SeedRow[] {
    const listed = this.#findAll("users.roles").flatMap((body) => listSeedRows(body, "active_roles"));
    const rows = listed.map(({ id, name }) => ({ id, workspace_id: this.#id, name }));
    return rows.length > 0 ? removeDuplicates(rows) : this.#listOwn("roles");
  }

  #listOrganizationTypes(): readonly SeedRow[] {
    const listed = listSeedRows(this.#findLast("organizations.types")).map(({ id, name, jurisdiction }) => ({
      id,
      name,
      ...(typeof jurisdiction === "string" && { jurisdiction }),
    }));
    const rows: SeedRow[] = listed.length > 0 ? listed : [...listSeedRows(this.#baseWorkspace.organization_types)];
    for (const name of this.#findSentValues("organization_type"))
      if (!rows.some((row) => row.name === name)) rows.push({ id: 900 + rows.length, name });
    return rows;
  }

  #listJurisdictions(): readonly SeedRow[] {
    const found = new Map<unknown, SeedRow>();
    for (const { jurisdiction } of this.#findAll("organizations.entities").flatMap((body) => listSeedRows(body))) {
      const { id, name, code2 } = toFields(jurisdiction);
      if (typeof id === "number" && typeof name === "string" && typeof code2 === "string")
        found.set(code2, { id, name, iso_code: code2 });
    }
    for (const row of listSeedRows(this.#baseWorkspace.jurisdictions))
      if (!found.has(row.iso_code)) found.set(row.iso_code, row);
    for (const code of this.#findSentValues("jurisdiction_iso_code"))
      if (!found.has(code)) found.set(code, { id: 900 + found.size, name: code, iso_code: code });
    return [...found.values()];
  }

  #listEntities(): readonly SeedRow[] {
    const listed = listSeedRows(this.#findLast("organizations.entities"));
    if (listed.length === 0) return this.#listOwn("entities");
    return listed.map((row) => {
      const address = toFields(row.primary_address);
      const { line_one = "", city_name: city = "", state_name: state = "", zipcode = "" } = address;
      return {
        id: row.id,
        workspace_id: this.#id,
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

  #listContractTypes(): readonly SeedRow[] {
    const listed = listSeedRows(this.#findLast("contract-types.list"));
    const base = this.#listOwn("contract_types");
    const routes = ["review", "sign"];
    const known = listed.map(({ id, name }) => {
      const row = base.find((one) => one.id === id);
      return { routes, ...row, id, workspace_id: this.#id, name };
    });
    const rows = this.#addSent(listed.length === 0 ? base : known, "contract_type_id", (id) => {
      return { id, workspace_id: this.#id, name: `Type ${id}`, routes };
    });
    return rows.map((row) => {
      const form = this.#findLast("contract-types.intake-form", `/contract_types/${row.id}/`);
      return Array.isArray(form) ? { ...row, intake_form: form.map(toQuestion) } : row;
    });
  }

  #listTemplates(types: readonly SeedRow[]): readonly SeedRow[] {
    const base = this.#listOwn("templates");
    const listed = [
      ...this.#findAll("templates.list").flatMap((body) => listSeedRows(body, "items")),
      ...this.#findAll("templates.show").filter(isObject),
    ];
    const rows = removeDuplicates(listed.length === 0 ? base : listed.map((row) => this.#createTemplate(row, base)));
    this.#addSent(rows, "contract_template_id", (id) =>
      this.#createTemplate({ id, name: `Template ${id}`, contract_type_id: types[0]?.id, tags: [] }, base),
    );
    return rows.map((row) => {
      const metadata = toFields(this.#findLast("templates.metadata", `/templates/${row.id}/`));
      if (!Array.isArray(metadata.attributes)) return row;
      return {
        ...row,
        attributes: metadata.attributes.map(toQuestion),
        ...(typeof metadata.counter_party_kind === "string" && { counter_party_kind: metadata.counter_party_kind }),
      };
    });
  }

  #createTemplate({ id, name, contract_type_id, tags }: SeedRow, base: readonly SeedRow[]): SeedRow {
    return {
      ...base.find((row) => row.id === id),
      id,
      workspace_id: this.#id,
      name,
      contract_type_id,
      ...(Array.isArray(tags) && { tags }),
    };
  }

  #listWorkflows(): readonly SeedRow[] {
    return this.#addSent(this.#listOwn("workflows"), "workflow_id", (id) => ({
      id,
      workspace_id: this.#id,
      title: `Workflow ${id}`,
      type: "INTAKE_WORKFLOW",
      frozen_version: { id: id * 10 },
    }));
  }

  /** Finds the values of this field in accepted requests. */
  #findSentValues(field: string): ReadonlySet<unknown> {
    const values = new Set<unknown>();
    for (const { request, response } of this.#caller.exchanges) {
      const text = request.body.toString("utf8");
      if (response.status >= 300 || !text.includes(field) || tryParseJson(text) === undefined) continue;
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
