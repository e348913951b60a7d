import { contracts } from "../../cluster/contracts/rows.ts";
import { users, workspaces } from "../../domain/workspaces.ts";
import type { Cause } from "../../store/cause.ts";
import { addCause, overrideStore } from "../../store/causes.ts";
import type { AnyRows, IndexQuery, RowKey, Rows, Store, Transaction, View } from "../../store/port.ts";
import { largeWorkspaceCollections, workspaceCollections } from "../state/remove-workspace.ts";

type Row = Readonly<Record<string, unknown>>;
type OwnershipTest = (row: Row, view: View) => boolean | Promise<boolean>;

/** Returns a store that hides the rows of other workspaces. Rows without a workspace are included. */
export function scopeStore(store: Store, cause: Cause, workspace: number): Store {
  const rules = buildRules(workspace);
  const caused = addCause(store, cause);
  return overrideStore(caused, {
    read: (work) => store.read((view) => work(scopeView(view, rules))),
    transaction: (name, work, own) => caused.transaction(name, (tx) => work(scopeTransaction(tx, rules)), own),
  });
}

function buildRules(workspace: number): ReadonlyMap<string, OwnershipTest> {
  const isOwned = ({ workspace_id }: Row) => workspace_id === workspace;
  const isOwnedViaContract: OwnershipTest = async ({ contract_id }, view) =>
    (await view.get(contracts, contract_id as number))?.workspace_id === workspace;
  const isOwnedViaUser: OwnershipTest = async ({ user_id }, view) =>
    (await view.get(users, user_id as number))?.workspace_id === workspace;
  const toEntries = (all: readonly AnyRows[], belongs: OwnershipTest) =>
    all.map(({ name }): [string, OwnershipTest] => [name, belongs]);
  return new Map([
    ...toEntries(workspaceCollections.workspace_id, isOwned),
    ...toEntries(largeWorkspaceCollections, isOwned),
    ...toEntries(workspaceCollections.contract_id, isOwnedViaContract),
    ...toEntries(workspaceCollections.user_id, isOwnedViaUser),
    [workspaces.name, ({ id }) => id === workspace],
  ]);
}

function scopeView(view: View, rules: ReadonlyMap<string, OwnershipTest>): View {
  const isOwn = (from: AnyRows, row: object) => rules.get(from.name)?.(row as Row, view) ?? true;
  const filterOwn = async <R extends object>(from: AnyRows, rows: readonly R[]): Promise<readonly R[]> => {
    const isOwnRow = await Promise.all(rows.map((row) => isOwn(from, row)));
    return rows.filter((_, i) => isOwnRow[i]);
  };
  const list = async <R extends object, Index extends string>(from: Rows<R, Index>, slice: IndexQuery<Index> = {}) => {
    if (!rules.has(from.name)) return view.list(from, slice);
    const { offset = 0, limit, ...rest } = slice;
    const rows = await filterOwn(from, await view.list(from, rest as IndexQuery<Index>));
    return rows.slice(offset, limit === undefined ? undefined : offset + limit);
  };
  return {
    list,
    async get<R extends object, Key extends RowKey>(from: Rows<R, string, Key>, key: NoInfer<Key>) {
      const row = await view.get(from, key);
      return row && (await isOwn(from, row)) ? row : undefined;
    },
    async getAll(from, things, keyOf) {
      const rows = await view.getAll(from, things, keyOf);
      return Promise.all(rows.map(async (row) => (row && (await isOwn(from, row)) ? row : undefined)));
    },
    async count(from, { offset: _, limit: __, ...slice } = {}) {
      return rules.has(from.name) ? (await list(from, slice as object)).length : view.count(from, slice as object);
    },
    lookup: (from, identifier) => view.lookup(from, identifier),
    size: (from) => view.size(from),
  };
}

function scopeTransaction(tx: Transaction, rules: ReadonlyMap<string, OwnershipTest>): Transaction {
  return {
    ...scopeView(tx, rules),
    getSync(from, key) {
      const row = tx.getSync(from, key);
      // Rows that name their workspace are filtered here. Other rows are only reachable through such rows.
      return row && (rules.get(from.name)?.(row as Row, tx) ?? true) ? row : undefined;
    },
    put: (into, row) => tx.put(into, row),
    delete: (from, key) => tx.delete(from, key),
    map: (into, cluster, identifiers) => tx.map(into, cluster, identifiers),
    unmap: (into, cluster, identifiers) => tx.unmap(into, cluster, identifiers),
    next: (sequence) => tx.next(sequence),
    get cause() {
      return tx.cause;
    },
    withCause: (cause, work) => tx.withCause(cause, work),
  };
}
