import { contracts } from "../../cluster/contracts/rows.ts";
import { users, workspaces } from "../../domain/workspaces.ts";
import { addCause, overrideMethods } from "../../store/causes.ts";
import type { AnyRows, Cause, IndexQuery, RowKey, Rows, Store, Transaction, View } from "../../store/port.ts";
import { largeWorkspaceCollections, workspaceCollections } from "../state/remove-workspace.ts";

type Row = Readonly<Record<string, unknown>>;
type OwnershipTest = (row: Row, view: View) => boolean;

/** Returns a store that hides the rows of other workspaces. Rows without a workspace are included. */
export function scopeStore(store: Store, cause: Cause, workspace: number): Store {
  const rules = buildRules(workspace);
  const storeWithCause = addCause(store, cause);
  return overrideMethods<Store>(storeWithCause, {
    read: (work) => store.read((view) => work(scopeView(view, rules))),
    transaction: (name, work, ownCause) =>
      storeWithCause.transaction(name, (tx) => work(scopeTransaction(tx, rules)), ownCause),
  });
}

function buildRules(workspace: number): ReadonlyMap<string, OwnershipTest> {
  const isOwned = ({ workspace_id }: Row) => workspace_id === workspace;
  const isOwnedViaContract: OwnershipTest = ({ contract_id }, view) =>
    view.getSync(contracts, contract_id as number)?.workspace_id === workspace;
  const isOwnedViaUser: OwnershipTest = ({ user_id }, view) =>
    view.getSync(users, user_id as number)?.workspace_id === workspace;
  const toEntries = (collections: readonly AnyRows[], isOwned: OwnershipTest) =>
    collections.map(({ name }): [string, OwnershipTest] => [name, isOwned]);
  return new Map([
    ...toEntries(workspaceCollections.workspace_id, isOwned),
    ...toEntries(largeWorkspaceCollections, isOwned),
    ...toEntries(workspaceCollections.contract_id, isOwnedViaContract),
    ...toEntries(workspaceCollections.user_id, isOwnedViaUser),
    [workspaces.name, ({ id }) => id === workspace],
  ]);
}

function scopeView(view: View, rules: ReadonlyMap<string, OwnershipTest>): View {
  const isVisible = (collection: AnyRows, row: object) => rules.get(collection.name)?.(row as Row, view) ?? true;
  const getSync = <R extends object, Key extends RowKey>(
    collection: Rows<R, string, Key>,
    key: NoInfer<Key> | null | undefined,
  ) => {
    const row = view.getSync(collection, key);
    return row && isVisible(collection, row) ? row : undefined;
  };
  const list = async <R extends object, Index extends string>(
    collection: Rows<R, Index>,
    slice: IndexQuery<Index> = {},
  ) => {
    if (!rules.has(collection.name)) return view.list(collection, slice);
    const { offset = 0, limit, ...rest } = slice;
    const rows = await view.list(collection, rest as IndexQuery<Index>);
    const visibleRows = rows.filter((row) => isVisible(collection, row));
    return visibleRows.slice(offset, limit === undefined ? undefined : offset + limit);
  };
  return {
    list,
    getSync,
    get: async (collection, key) => getSync(collection, key),
    async count(collection, { offset: _, limit: __, ...slice } = {}) {
      return rules.has(collection.name)
        ? (await list(collection, slice as object)).length
        : view.count(collection, slice as object);
    },
    lookup: (collection, identifier) => view.lookup(collection, identifier),
    size: (collection) => view.size(collection),
  };
}

const scopeTransaction = (tx: Transaction, rules: ReadonlyMap<string, OwnershipTest>): Transaction =>
  overrideMethods<Transaction>(tx, scopeView(tx, rules));
