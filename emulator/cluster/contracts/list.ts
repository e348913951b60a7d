import { type ContractFilter, contractFilters } from "../../../src/api/contracts/contract-list.ts";
import { contractStatuses } from "../../../src/api/contracts/lifecycle.ts";
import { contractTypes, entities, templates, type Workspace } from "../../domain/workspaces.ts";
import type { IndexQuery, View } from "../../store/port.ts";
import type { ClusterHandlers } from "../context.ts";
import { mapPage, ProblemCollector, paginateList, paginateSlice } from "../response.ts";
import { findPendingParty, toListedContract, toNumberedContract } from "./records.ts";
import {
  type Contract,
  contracts,
  formatReferenceId,
  selectContractsOfWorkspace,
  toSortableString,
  toWorkspaceKey,
} from "./rows.ts";

export const contractListHandlers = {
  "contracts.list": ({ query }, { store, cluster, caller, fail }) => {
    const problems = new ProblemCollector();
    const filters = parseFilters(query, problems);
    if (problems.found) return fail("invalid-fields", problems.found);
    const text = query.query?.trim().toLowerCase();
    const conditions = filters.length + (text === undefined ? 0 : 1);

    return store.read(async (view) => {
      const { workspace } = caller;
      const { slices, covers } = await findNarrowestSlice(view, workspace.id, findCandidates(workspace.id, filters));
      const [only, ...others] = slices;
      if (only && others.length === 0 && covers === conditions && isInOrder(only)) {
        const page = await paginateSlice(view, contracts, { ...only, reverse: true }, query);
        return mapPage(page, (row) => toListedContract(view, { cluster }, row));
      }
      const names = await readNames(view, workspace);
      const found = new Set((await Promise.all(slices.map((slice) => view.list(contracts, slice)))).flat());
      const rows = [...found].filter((row) => matchesFilters(filters, row, names) && matchesText(row, names, text));
      rows.sort((a, b) => b.id - a.id);
      return mapPage(paginateList(rows, query), (row) => toListedContract(view, { cluster }, row));
    });
  },

  "contracts.list-v1": ({ query }, { store, cluster, caller }) =>
    store.read(async (view) => {
      const newestFirst = { ...selectContractsOfWorkspace(caller.workspace.id), reverse: true };
      const page = await paginateSlice(view, contracts, newestFirst, query);
      return mapPage(page, (row) => toNumberedContract(view, { cluster }, row));
    }),
} satisfies ClusterHandlers;

/**
 * Returns the smallest set of contracts that contains every match of the filters. A filter without an index, or with a
 * string, requires a read of the whole set.
 */
async function findNarrowestSlice(view: View, workspaceId: number, sets: readonly Candidates[]): Promise<Candidates> {
  const fullSlice = { slices: [selectContractsOfWorkspace(workspaceId)], covers: 0 };
  const sized = await Promise.all(
    [...sets, fullSlice].map(async (candidates) => {
      const counts = await Promise.all(candidates.slices.map((slice) => view.count(contracts, slice)));
      return { candidates, size: counts.reduce((sum, count) => sum + count, 0) };
    }),
  );
  return sized.reduce((least, each) => (each.size < least.size ? each : least)).candidates;
}

/** Reports whether a slice is in the order of the list. A single value and a range of contract numbers are. */
const isInOrder = ({ by, equals }: ContractSlice): boolean => by === "number" || equals !== undefined;

/**
 * Reports whether the text matches the name of the contract, an entity or a party, or the address of a party
 * (DECISIONS.md, F18).
 */
function matchesText(row: Contract, { entities }: NameLookup, text: string | undefined): boolean {
  if (text === undefined) return true;
  const parties = row.counterparties.flatMap(({ name, poc }) => [name, poc?.email ?? ""]);
  return [row.name, entities.get(row.entity_id ?? 0) ?? "", ...parties].some((each) =>
    each.toLowerCase().includes(text),
  );
}

interface NameLookup {
  readonly types: ReadonlyMap<number, string>;
  readonly entities: ReadonlyMap<number, string>;
  readonly tags: ReadonlyMap<number, readonly string[]>;
}

async function readNames(view: View, { id }: Workspace): Promise<NameLookup> {
  const ofWorkspace = { by: "workspace", equals: id } as const;
  const toNameMap = (rows: readonly { readonly id: number; readonly name: string }[]) =>
    new Map(rows.map((row) => [row.id, row.name]));
  return {
    types: toNameMap(await view.list(contractTypes, ofWorkspace)),
    entities: toNameMap(await view.list(entities, ofWorkspace)),
    tags: new Map((await view.list(templates, ofWorkspace)).map((template) => [template.id, template.tags])),
  };
}

type FilterValue = string | number;
type ValueReader = (row: Contract, names: NameLookup) => readonly FilterValue[];
const listSignatoryEmails = (row: Contract, which: (action: Contract["signatories"][number]["action"]) => boolean) =>
  row.signatories.filter(({ action }) => which(action)).map(({ email }) => email);

/**
 * Compared values of each filter. A field that the emulator does not store has no values, so no comparison succeeds.
 */
const values: Readonly<Record<ContractFilter, ValueReader>> = {
  approvals_pending: (row) => [String(row.approvals.some(({ status }) => status === "PENDING"))],
  assigned_to: (row) => row.reviews.flatMap((review) => review.reviewer_user_id ?? []),
  business_user_id: (row) => [row.business_user_id],
  client_brand_name: () => [],
  client_email: (row) => row.counterparties.flatMap(({ poc }) => poc?.email ?? []),
  client_email_address: (row) => row.counterparties.flatMap(({ poc }) => poc?.email ?? []),
  client_name: (row) => row.counterparties.map(({ name }) => name),
  contract_id: (row) => [row.id],
  contract_kind: (row) => [row.kind],
  contract_packet_name: () => [],
  contract_reference_id: (row) => [formatReferenceId(row)],
  contract_type_id: (row) => [row.contract_type_id],
  contract_type_name: (row, { types }) => [types.get(row.contract_type_id) ?? ""],
  created_at: (row) => [row.created_at],
  display_status: (row) => [row.status],
  entity_name: (row, names) => [names.entities.get(row.entity_id ?? 0) ?? ""],
  execution_date: (row) => (row.executed_at === null ? [] : [row.executed_at]),
  expiring_at: () => [],
  last_updated_on: (row) => [row.updated_at],
  legal_user_id: (row) => [row.created_by],
  pending_with: (row) => [findPendingParty(row) ?? ""],
  signatories: (row) => listSignatoryEmails(row, () => true),
  signatures_completed_by: (row) => listSignatoryEmails(row, (action) => action?.is_success === true),
  signatures_pending_on: (row) => listSignatoryEmails(row, (action) => action === null),
  signatures_rejected_by: (row) => listSignatoryEmails(row, (action) => action?.is_success === false),
  tags: (row, { tags }) => tags.get(row.template_id ?? 0) ?? [],
};

interface Filter extends FilterBounds {
  readonly matches: (found: readonly FilterValue[]) => boolean;
}

const dateFilters: ReadonlySet<ContractFilter> = new Set([
  "created_at",
  "execution_date",
  "expiring_at",
  "last_updated_on",
]);

function parseFilters(query: Readonly<Record<string, unknown>>, problems: ProblemCollector): readonly Filter[] {
  const filters: Filter[] = [];
  for (const [key, given] of Object.entries(query)) {
    if (!key.startsWith("filter__") || given === undefined) continue;
    const [, name = "", operator = "$eq"] = /^filter__(\w+?)(?:\[(\$\w+)\])?$/.exec(key) ?? [];
    if (!Object.hasOwn(contractFilters, name)) {
      problems.add([key], "Invalid filter field");
      continue;
    }
    const filter = parseFilter(name as ContractFilter, operator, String(given));
    if (typeof filter === "string") problems.add([key], filter);
    else filters.push(filter);
  }
  return filters;
}

export const matchesFilters = (filters: readonly Filter[], row: Contract, names: NameLookup): boolean =>
  filters.every(({ field, matches }) => matches(values[field](row, names)));

const createReader = (field: ContractFilter) => (text: string) =>
  dateFilters.has(field) ? Date.parse(text) : Number(text);

function parseFilter(field: ContractFilter, operator: string, text: string): Filter | string {
  if (operator === "$eq") return createEqualFilter(field, [text]);
  if (operator === "$ne") {
    const { matches } = createEqualFilter(field, [text]);
    return { field, matches: (found) => !matches(found) };
  }
  // `\,` is a comma within a value (DECISIONS.md, F8).
  if (operator === "$in") {
    return createEqualFilter(
      field,
      (text.match(/(?:\\,|[^,])+/g) ?? []).map((each) => each.replaceAll("\\,", ",")),
    );
  }
  if (!Object.hasOwn(rangeBuilders, operator) || contractFilters[field] !== "order") return "Invalid filter operator";
  const bound = createReader(field)(text);
  if (Number.isNaN(bound))
    return dateFilters.has(field) ? "Input should be a valid date" : "Input should be a valid number";
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } =
    rangeBuilders[operator as keyof typeof rangeBuilders](bound);
  return { field, from, to, matches: (found) => found.some((value) => from <= Number(value) && Number(value) <= to) };
}

function createEqualFilter(field: ContractFilter, equals: readonly string[]): Filter {
  const texts = new Set(equals.map((text) => text.toLowerCase()));
  const numbers = new Set(equals.map(createReader(field)));
  const equalsAnyValue = (value: FilterValue) =>
    typeof value === "number" ? numbers.has(value) : texts.has(value.toLowerCase());
  return { field, equals, matches: (found) => found.some(equalsAnyValue) };
}

/** Ids and times are integers, so every range has a first and a last value. */
const rangeBuilders: Readonly<
  Record<"$gt" | "$gte" | "$lt" | "$lte", (bound: number) => Pick<FilterBounds, "from" | "to">>
> = {
  $gt: (bound) => ({ from: Math.floor(bound) + 1 }),
  $gte: (bound) => ({ from: Math.ceil(bound) }),
  $lt: (bound) => ({ to: Math.ceil(bound) - 1 }),
  $lte: (bound) => ({ to: Math.floor(bound) }),
};

type ContractIndex = keyof (typeof contracts)["indexes"];
type ContractSlice = IndexQuery<ContractIndex>;

/** The condition of a filter that an index can evaluate: one of these values, or a range (inclusive). */
interface FilterBounds {
  readonly field: ContractFilter;
  readonly equals?: readonly string[];
  readonly from?: number;
  readonly to?: number;
}

/**
 * Index slices that contain exactly the contracts that match some of the filters. A contract can be in several slices.
 */
interface Candidates {
  readonly slices: readonly ContractSlice[];
  readonly covers: number;
}

type IndexLookup = (value: string) => readonly [by: ContractIndex, value: string | number] | undefined;

const lookUpByEmail: IndexLookup = (value) => ["party_email", value.toLowerCase()];
const indexLookups: Partial<Readonly<Record<ContractFilter, IndexLookup>>> = {
  display_status: (value) => {
    const status = contractStatuses.find((each) => each.toLowerCase() === value.toLowerCase());
    return status && ["status", status];
  },
  contract_type_id: (value) => ["type", Number(value)],
  client_email: lookUpByEmail,
  client_email_address: lookUpByEmail,
  contract_id: (value) => ["number", toSortableString(Number(value))],
  contract_reference_id: (value) => {
    const id = Number(/^svc-(\d+)$/i.exec(value)?.[1]);
    return formatReferenceId({ id }) === value.toUpperCase() ? ["number", toSortableString(id)] : undefined;
  },
};

const rangeIndexes: Partial<Readonly<Record<ContractFilter, ContractIndex>>> = {
  contract_id: "number",
  created_at: "created",
  last_updated_on: "updated",
};

function findCandidates(workspaceId: number, filters: readonly FilterBounds[]): readonly Candidates[] {
  const toValue = (of: string | number) => toWorkspaceKey(workspaceId, of);

  const equalityBounds = filters.flatMap(({ field, equals }) => {
    const lookup = indexLookups[field];
    if (!equals || !lookup) return [];
    const found = equals.flatMap((text) => {
      const entry = lookup(text);
      return entry ? [{ by: entry[0], equals: toValue(entry[1]) }] : [];
    });
    return [{ covers: 1, slices: [...new Map(found.map((slice) => [slice.equals, slice])).values()] }];
  });

  const within = Object.entries(rangeIndexes).flatMap(([field, by]) => {
    const bounds = filters.filter((each) => each.field === field && each.from !== undefined);
    if (bounds.length === 0) return [];
    const from = Math.max(0, ...bounds.map((each) => each.from ?? 0));
    const to = Math.min(Number.MAX_SAFE_INTEGER, ...bounds.map((each) => each.to ?? Number.MAX_SAFE_INTEGER));
    const slices = to < from ? [] : [{ by, from: toValue(toSortableString(from)), to: toValue(toSortableString(to)) }];
    return [{ covers: bounds.length, slices }];
  });
  return [...equalityBounds, ...within];
}
