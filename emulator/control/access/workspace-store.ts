import { contracts } from "../../cluster/contracts/rows.ts";
import { users, workspaces } from "../../domain/workspaces.ts";
import type { HandlerCall } from "../../http/handler.ts";
import { addCause, overrideMethods } from "../../store/causes.ts";
import type { AnyRows, IndexQuery, RowKey, Rows, Store, Transaction, View } from "../../store/port.ts";
import type { ControlContext } from "../context.ts";
import { listOwnedCollections } from "../state/remove-workspace.ts";

type Row = Readonly<Record<string, unknown>>;
type OwnershipTest = (row: Row, view: View) => boolean;

type ScopedCall = Pick<ControlContext, "store" | "snapshots"> & Pick<HandlerCall<never, unknown>, "request">;

/** Returns a store that hides the rows of other workspaces. Rows without a workspace are included. */
export function scopeStore({ store, snapshots, request }: ScopedCall, workspace: number): Store {
  const rules = buildRules(snapshots, workspace);
  const storeWithCause = addCause(store, request.cause);
  return overrideMethods<Store>(storeWithCause, {
    ...scopeView(store, rules),
    transaction: (name, work, ownCause) =>
      storeWithCause.transaction(name, (tx) => work(scopeTransaction(tx, rules)), ownCause),
  });
}

function buildRules({ collections }: ScopedCall["snapshots"], workspace: number): ReadonlyMap<string, OwnershipTest> {
  const tests: Readonly<Record<"workspace_id" | "contract_id" | "user_id", OwnershipTest>> = {
    workspace_id: ({ workspace_id }) => workspace_id === workspace,
    contract_id: ({ contract_id }, view) => view.get(contracts, contract_id as number)?.workspace_id === workspace,
    user_id: ({ user_id }, view) => view.get(users, user_id as number)?.workspace_id === workspace,
  };
  return new Map([
    ...listOwnedCollections(collections).map(({ collection, field }) => [collection.name, tests[field]] as const),
    [workspaces.name, ({ id }) => id === workspace],
  ]);
}

function scopeView(view: View, rules: ReadonlyMap<string, OwnershipTest>): View {
  const isVisible = (collection: AnyRows, row: object) => rules.get(collection.name)?.(row as Row, view) ?? true;
  const get = <R extends object, Key extends RowKey>(
    collection: Rows<R, string, Key>,
    key: NoInfer<Key> | null | undefined,
  ) => {
    const row = view.get(collection, key);
    return row && isVisible(collection, row) ? row : undefined;
  };
  const list = <R extends object, Index extends string>(collection: Rows<R, Index>, slice: IndexQuery<Index> = {}) => {
    if (!rules.has(collection.name)) return view.list(collection, slice);
    const { offset = 0, limit, ...rest } = slice;
    const rows = view.list(collection, rest as IndexQuery<Index>);
    const visibleRows = rows.filter((row) => isVisible(collection, row));
    return visibleRows.slice(offset, limit === undefined ? undefined : offset + limit);
  };
  return {
    list,
    get,
    count(collection, { offset: _, limit: __, ...slice } = {}) {
      return rules.has(collection.name)
        ? list(collection, slice as object).length
        : view.count(collection, slice as object);
    },
    lookup: (collection, identifier) => view.lookup(collection, identifier),
    size: (collection) => view.size(collection),
  };
}

const scopeTransaction = (tx: Transaction, rules: ReadonlyMap<string, OwnershipTest>): Transaction =>
  overrideMethods<Transaction>(tx, scopeView(tx, rules));
