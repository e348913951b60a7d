import { type ContractFilter, contractFilters } from "../../src/api/contracts/contract-list.ts";
import type { View } from "../store/store.ts";
import { type Contract, referenceId } from "./contract-rows.ts";
import type { Problems } from "./field-problems.ts";
import { pendingWith } from "./pending-with.ts";
import { contractTypes, entities, templates, type Workspace } from "./workspaces.ts";

/** The names that rows refer to by id. */
export interface Names {
  readonly types: ReadonlyMap<number, string>;
  readonly entities: ReadonlyMap<number, string>;
  readonly tags: ReadonlyMap<number, readonly string[]>;
}

export async function namesIn(view: View, { id }: Workspace): Promise<Names> {
  const own = { by: "workspace", equals: id } as const;
  const named = (rows: readonly { readonly id: number; readonly name: string }[]) =>
    new Map(rows.map((row) => [row.id, row.name]));
  return {
    types: named(await view.list(contractTypes, own)),
    entities: named(await view.list(entities, own)),
    tags: new Map((await view.list(templates, own)).map((template) => [template.id, template.tags])),
  };
}

type Value = string | number;
type Read = (row: Contract, names: Names) => readonly Value[];
const signatories = (row: Contract, which: (action: Contract["signatories"][number]["action"]) => boolean) =>
  row.signatories.filter(({ action }) => which(action)).map(({ email }) => email);

/** What each filter compares. A field that the emulator keeps nothing for has no values: nothing equals it. */
const values: Readonly<Record<ContractFilter, Read>> = {
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
  contract_reference_id: (row) => [referenceId(row)],
  contract_type_id: (row) => [row.contract_type_id],
  contract_type_name: (row, { types }) => [types.get(row.contract_type_id) ?? ""],
  created_at: (row) => [row.created_at],
  display_status: (row) => [row.status],
  entity_name: (row, names) => [names.entities.get(row.entity_id ?? 0) ?? ""],
  execution_date: (row) => (row.executed_at === null ? [] : [row.executed_at]),
  expiring_at: () => [],
  last_updated_on: (row) => [row.updated_at],
  legal_user_id: (row) => [row.created_by],
  pending_with: (row) => [pendingWith(row) ?? ""],
  signatories: (row) => signatories(row, () => true),
  signatures_completed_by: (row) => signatories(row, (action) => action?.is_success === true),
  signatures_pending_on: (row) => signatories(row, (action) => action === null),
  signatures_rejected_by: (row) => signatories(row, (action) => action?.is_success === false),
  tags: (row, { tags }) => tags.get(row.template_id ?? 0) ?? [],
};

type Matches = (found: readonly Value[]) => boolean;
const dates: ReadonlySet<ContractFilter> = new Set(["created_at", "execution_date", "expiring_at", "last_updated_on"]);
const compare = {
  $gt: (a: number, b: number) => a > b,
  $gte: (a: number, b: number) => a >= b,
  $lt: (a: number, b: number) => a < b,
  $lte: (a: number, b: number) => a <= b,
} as const;

/** A row passes when all filters of the query let it. Unknown filters and unreadable values are noted. */
export function filtersOf(query: Readonly<Record<string, unknown>>, problems: Problems) {
  const filters: { readonly field: ContractFilter; readonly matches: Matches }[] = [];
  for (const [key, given] of Object.entries(query)) {
    if (!key.startsWith("filter__") || given === undefined) continue;
    const [, name = "", operator = "$eq"] = /^filter__(\w+?)(?:\[(\$\w+)\])?$/.exec(key) ?? [];
    if (!Object.hasOwn(contractFilters, name)) {
      problems.add([key], "Invalid filter field");
      continue;
    }
    const field = name as ContractFilter;
    const matches = matcher(field, operator, String(given));
    if (typeof matches === "string") problems.add([key], matches);
    else filters.push({ field, matches });
  }
  return (row: Contract, names: Names) => filters.every(({ field, matches }) => matches(values[field](row, names)));
}

function matcher(field: ContractFilter, operator: string, text: string): Matches | string {
  const read = (each: string) => (dates.has(field) ? Date.parse(each) : Number(each));
  const same = (value: Value, each: string) =>
    typeof value === "number" ? value === read(each) : value.toLowerCase() === each.toLowerCase();
  if (operator === "$eq") return (found) => found.some((value) => same(value, text));
  if (operator === "$ne") return (found) => !found.some((value) => same(value, text));
  if (operator === "$in") {
    // `\,` is a comma within a value (contract-api-facts.md, 3.2).
    const wanted = (text.match(/(?:\\,|[^,])+/g) ?? []).map((each) => each.replaceAll("\\,", ","));
    return (found) => found.some((value) => wanted.some((each) => same(value, each)));
  }
  if (!Object.hasOwn(compare, operator) || contractFilters[field] !== "order") return "Invalid filter operator";
  const bound = read(text);
  if (Number.isNaN(bound)) return dates.has(field) ? "Input should be a valid date" : "Input should be a valid number";
  const holds = compare[operator as keyof typeof compare];
  return (found) => found.some((value) => typeof value === "number" && holds(value, bound));
}
