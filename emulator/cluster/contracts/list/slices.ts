import { contractStatuses } from "../../../../src/api/contract-statuses.ts";
import type { ContractFilter } from "../../../../src/api/contracts/contract-list.ts";
import type { Slice } from "../../../store/port.ts";
import { type contracts, referenceId, toSortableString, workspaceIndexKey } from "../rows.ts";

type Index = keyof (typeof contracts)["indexes"];
export type ContractSlice = Slice<Index>;

/** What a filter asks of its field where an index may know it: one of these values, or a range (inclusive). */
export interface FilterBounds {
  readonly field: ContractFilter;
  readonly equals?: readonly string[];
  readonly from?: number;
  readonly to?: number;
}

/** Slices of indexes that hold every contract which some of the filters let through, and no other; one in several. */
export interface Candidates {
  readonly slices: readonly ContractSlice[];
  /** How many of the filters the slices stand for. */
  readonly covers: number;
}

/** Where an index has the contracts whose field is a value; undefined: nowhere, since none has it. */
type Lookup = (value: string) => readonly [by: Index, value: string | number] | undefined;

const byEmail: Lookup = (value) => ["party_email", value.toLowerCase()];
const lookups: Partial<Readonly<Record<ContractFilter, Lookup>>> = {
  display_status: (value) => {
    const status = contractStatuses.find((each) => each.toLowerCase() === value.toLowerCase());
    return status && ["status", status];
  },
  contract_type_id: (value) => ["type", Number(value)],
  client_email: byEmail,
  client_email_address: byEmail,
  contract_id: (value) => ["number", toSortableString(Number(value))],
  contract_reference_id: (value) => {
    const id = Number(/^svc-(\d+)$/i.exec(value)?.[1]);
    return referenceId({ id }) === value.toUpperCase() ? ["number", toSortableString(id)] : undefined;
  },
};

const ranges: Partial<Readonly<Record<ContractFilter, Index>>> = {
  contract_id: "number",
  created_at: "created",
  last_updated_on: "updated",
};

/** What the indexes know of the filters: a set of candidates for each filter, or range of a field, that has an index. */
export function candidatesFor(workspaceId: number, filters: readonly FilterBounds[]): readonly Candidates[] {
  const value = (of: string | number) => workspaceIndexKey(workspaceId, of);

  const equal = filters.flatMap(({ field, equals }) => {
    const lookup = lookups[field];
    if (!equals || !lookup) return [];
    const found = equals.flatMap((text) => {
      const entry = lookup(text);
      return entry ? [{ by: entry[0], equals: value(entry[1]) }] : [];
    });
    return [{ covers: 1, slices: [...new Map(found.map((slice) => [slice.equals, slice])).values()] }];
  });

  const within = Object.entries(ranges).flatMap(([field, by]) => {
    const bounds = filters.filter((each) => each.field === field && each.from !== undefined);
    if (bounds.length === 0) return [];
    const from = Math.max(0, ...bounds.map((each) => each.from ?? 0));
    const to = Math.min(Number.MAX_SAFE_INTEGER, ...bounds.map((each) => each.to ?? Number.MAX_SAFE_INTEGER));
    const slices = to < from ? [] : [{ by, from: value(toSortableString(from)), to: value(toSortableString(to)) }];
    return [{ covers: bounds.length, slices }];
  });
  return [...equal, ...within];
}
