import { type ContractFilter, contractFilters } from "../../../src/api/contracts/contract-list.ts";
import { contractStatuses } from "../../../src/api/contracts/lifecycle.ts";
import { lookupTable } from "../../../src/base/object.ts";
import { parseIsoTime } from "../../../src/base/quantities.ts";
import { contractTypes, entities, templates, type Workspace } from "../../domain/workspaces.ts";
import { ProblemCollector } from "../../http/dialects/field-problems.ts";
import type { FindingReporter } from "../../http/handler.ts";
import type { IndexQuery, View } from "../../store/port.ts";
import type { ClusterHandlers } from "../context.ts";
import { counterparties } from "../counterparties/rows.ts";
import { mapPage, paginateList, paginateSlice } from "../response.ts";
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
  "contracts.list": ({ query }, { store, cluster, caller, fail, finding }) => {
    const { workspace } = caller;
    const problems = new ProblemCollector();
    const filters = parseFilters(query, workspace, problems, finding);
    if (problems.fields) return fail("invalid-fields", problems.fields);
    const text = query.query?.trim().toLowerCase();
    const indexedSets = filters.flatMap(({ slices }) => (slices ? [slices] : []));
    const allContracts = [selectContractsOfWorkspace(workspace.id)];
    const slices = findSmallest(store, [...indexedSets, allContracts]);
    const conditions = filters.length + (text === undefined ? 0 : 1);
    const [firstSlice, ...otherSlices] = slices;
    if (
      firstSlice &&
      otherSlices.length === 0 &&
      conditions === (slices === allContracts ? 0 : 1) &&
      isInOrder(firstSlice)
    ) {
      const page = paginateSlice(store, contracts, { ...firstSlice, reverse: true }, query);
      return mapPage(page, (row) => toListedContract(store, { cluster }, row));
    }
    const names = readNames(store, workspace, filters);
    const candidates = new Set(slices.flatMap((slice) => store.list(contracts, slice)));
    const rows = [...candidates].filter(
      (row) =>
        filters.every(({ field, matches }) => matches(values[field](row, names))) && matchesText(row, names, text),
    );
    rows.sort((a, b) => b.id - a.id);
    return mapPage(paginateList(rows, query), (row) => toListedContract(store, { cluster }, row));
  },

  "contracts.list-v1": ({ query }, { store, cluster, caller }) => {
    const newestFirst = { ...selectContractsOfWorkspace(caller.workspace.id), reverse: true };
    const page = paginateSlice(store, contracts, newestFirst, query);
    return mapPage(page, (row) => toNumberedContract(store, { cluster }, row));
  },
} satisfies ClusterHandlers;

type ContractIndex = keyof (typeof contracts)["indexes"];
type ContractSlice = IndexQuery<ContractIndex>;

/** Each set contains every match. The chosen set is read as a whole, unless the page can be read from the index. */
function findSmallest(view: View, sets: readonly (readonly ContractSlice[])[]) {
  const sizedSets = sets.map((slices) => ({
    slices,
    size: slices.reduce((sum, slice) => sum + view.count(contracts, slice), 0),
  }));
  return sizedSets.reduce((smallest, each) => (each.size < smallest.size ? each : smallest)).slices;
}

/** Reports whether a slice is in the order of the list. Slices of one value and ranges of contract numbers are. */
const isInOrder = ({ by, equals }: ContractSlice): boolean => by === "number" || equals !== undefined;

/** A search covers the names of contract, entity and parties, and the parties' addresses (DECISIONS.md, F18). */
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
  readonly brands: ReadonlyMap<number, string | null>;
}

function readNames(view: View, { id }: Workspace, filters: readonly Filter[]): NameLookup {
  const slice = { by: "workspace", equals: id } as const;
  // A workspace can have many counterparties, unlike types, entities and templates.
  const needsBrands = filters.some(({ field }) => field === "client_brand_name");
  const parties = needsBrands ? view.list(counterparties, slice) : [];
  const toNameMap = (rows: readonly { readonly id: number; readonly name: string }[]) =>
    new Map(rows.map((row) => [row.id, row.name]));
  return {
    types: toNameMap(view.list(contractTypes, slice)),
    entities: toNameMap(view.list(entities, slice)),
    tags: new Map(view.list(templates, slice).map((template) => [template.id, template.tags])),
    brands: new Map(parties.map((row) => [row.id, row.brand_name])),
  };
}

type FilterValue = string | number;
type ValueReader = (row: Contract, names: NameLookup) => readonly FilterValue[];
const listSignatoryEmails = (row: Contract, matches: (action: Contract["signatories"][number]["action"]) => boolean) =>
  row.signatories.filter(({ action }) => matches(action)).map(({ email }) => email);

/** A field that the emulator does not store has no values, so no comparison succeeds but $ne. */
const values: Readonly<Record<ContractFilter, ValueReader>> = {
  approvals_pending: (row) => [String(row.approvals.some(({ status }) => status === "PENDING"))],
  assigned_to: (row) => row.reviews.flatMap((review) => review.reviewer_user_id ?? []),
  business_user_id: (row) => [row.business_user_id],
  client_brand_name: (row, { brands }) =>
    row.counterparties.flatMap((party) => brands.get(party.counterparty_id) ?? []),
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

interface Filter {
  readonly field: ContractFilter;
  readonly matches: (actual: readonly FilterValue[]) => boolean;
  /** Slices that contain exactly the matches. Undefined if no index can evaluate the filter. */
  readonly slices?: readonly ContractSlice[] | undefined;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

function parseFilters(
  query: Readonly<Record<string, unknown>>,
  workspace: Workspace,
  problems: ProblemCollector,
  finding: FindingReporter,
) {
  const filters: Filter[] = [];
  const ranges = new Map<ContractFilter, Range>();
  for (const [key, value] of Object.entries(query)) {
    if (!key.startsWith("filter__") || value === undefined) continue;
    const [, name = "", operator = "$eq"] = /^filter__(\w+?)(?:\[(\$\w+)\])?$/.exec(key) ?? [];
    const field = name as ContractFilter;
    const texts = operator === "$in" ? splitList(String(value)) : [String(value)];
    const filter = Object.hasOwn(contractFilters, name)
      ? parseFilter(field, operator, texts, workspace)
      : "Invalid filter field";
    const invalidTexts = texts.filter((text) => !isPossible(field, text));
    // Whether the real service rejects them is not public (DECISIONS.md, E1).
    if (invalidTexts.length > 0)
      finding("unknown-filter-value", `${key} must be ${describeValues(field)}, got ${invalidTexts.join(", ")}`);
    if (typeof filter === "string") problems.add([key], filter);
    else if ("matches" in filter) filters.push(filter);
    else {
      const { from, to } = ranges.get(field) ?? filter;
      ranges.set(field, { from: Math.max(from, filter.from), to: Math.min(to, filter.to) });
    }
  }
  // The bounds of a field are one filter, because an index can evaluate them together.
  return [...filters, ...[...ranges].map(([field, range]) => createRangeFilter(field, range, workspace))];
}

/** `\,` is a comma within a value (DECISIONS.md, F8). */
const splitList = (text: string): string[] =>
  (text.match(/(?:\\,|[^,])+/g) ?? []).map((each) => each.replaceAll("\\,", ","));

const findStatus = (text: string) => contractStatuses.find((each) => each.toLowerCase() === text.toLowerCase());

const dateFilters: readonly ContractFilter[] = ["created_at", "execution_date", "expiring_at", "last_updated_on"];

/** Returns the integers that a text means. A day or a time without a fraction is all of it (DECISIONS.md, C30). */
function parseNumbers(field: ContractFilter, text: string): Range {
  if (!dateFilters.includes(field)) return { from: Math.ceil(Number(text)), to: Math.floor(Number(text)) };
  const from = parseIsoTime(text);
  const durationMs = text.includes(".") ? 1 : text.includes(":") ? 1_000 : 86_400_000;
  return { from, to: from + durationMs - 1 };
}

/** Returns whether a contract could have the value. */
function isPossible(field: ContractFilter, text: string): boolean {
  if (field === "display_status") return findStatus(text) !== undefined;
  return contractFilters[field] !== "order" || !Number.isNaN(parseNumbers(field, text).from);
}

function describeValues(field: ContractFilter): string {
  if (field === "display_status") return `one of ${contractStatuses.join(", ")}`;
  return dateFilters.includes(field) ? "a date" : "a number";
}

function parseFilter(
  field: ContractFilter,
  operator: string,
  texts: readonly string[],
  workspace: Workspace,
): Filter | Range | string {
  if (operator === "$eq" || operator === "$in") return createEqualFilter(field, texts, workspace);
  if (operator === "$ne") {
    const { matches } = createEqualFilter(field, texts, workspace);
    return { field, matches: (actual) => !matches(actual) };
  }
  const toRange = rangeBuilders[operator];
  if (!toRange || contractFilters[field] !== "order") return "Invalid filter operator";
  if (!isPossible(field, texts[0]!)) return `Input should be ${describeValues(field).replace("a ", "a valid ")}`;
  return { ...everyNumber, ...toRange(parseNumbers(field, texts[0]!)) };
}

/** Indexed IDs and times are not negative integers, so each of their ranges has a first and a last value. */
function createRangeFilter(field: ContractFilter, { from, to }: Range, { id }: Workspace): Filter {
  const by = rangeIndexes[field];
  const [first, last] = [Math.max(from, 0), Math.min(to, Number.MAX_SAFE_INTEGER)];
  const toKey = (value: number) => toWorkspaceKey(id, toSortableString(value));
  return {
    field,
    matches: (actual) => actual.some((value) => from <= Number(value) && Number(value) <= to),
    slices: by && (last < first ? [] : [{ by, from: toKey(first), to: toKey(last) }]),
  };
}

function createEqualFilter(field: ContractFilter, equals: readonly string[], { id }: Workspace): Filter {
  const texts = new Set(equals.map((text) => text.toLowerCase()));
  const numbers = equals.map((text) => parseNumbers(field, text));
  const equalsAnyValue = (value: FilterValue) =>
    typeof value === "number"
      ? numbers.some(({ from, to }) => from <= value && value <= to)
      : texts.has(value.toLowerCase());
  const { by, toKey } = valueIndexes[field] ?? {};
  const keys = toKey && new Set(equals.map(toKey).filter((key) => key !== undefined));
  return {
    field,
    matches: (actual) => actual.some(equalsAnyValue),
    slices: keys && [...keys].map((key) => ({ by, equals: toWorkspaceKey(id, key) })),
  };
}

const everyNumber: Range = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };

const rangeBuilders = lookupTable<(bound: Range) => Partial<Range>>({
  $gt: ({ to }) => ({ from: to + 1 }),
  $gte: ({ from }) => ({ from }),
  $lt: ({ from }) => ({ to: from - 1 }),
  $lte: ({ to }) => ({ to }),
});

const rangeIndexes: Partial<Readonly<Record<ContractFilter, ContractIndex>>> = {
  contract_id: "number",
  created_at: "created",
  last_updated_on: "updated",
};

interface ValueIndex {
  readonly by: ContractIndex;
  /** Returns undefined for a value that no contract has. */
  readonly toKey: (text: string) => string | number | undefined;
}

const partyEmailIndex: ValueIndex = { by: "party_email", toKey: (text) => text.toLowerCase() };
const valueIndexes: Partial<Readonly<Record<ContractFilter, ValueIndex>>> = {
  display_status: { by: "status", toKey: findStatus },
  contract_type_id: { by: "type", toKey: Number },
  client_email: partyEmailIndex,
  client_email_address: partyEmailIndex,
  contract_id: { by: "number", toKey: (text) => toSortableString(Number(text)) },
  contract_reference_id: {
    by: "number",
    toKey(text) {
      const id = Number(/^svc-(\d+)$/i.exec(text)?.[1]);
      return formatReferenceId({ id }) === text.toUpperCase() ? toSortableString(id) : undefined;
    },
  },
};
