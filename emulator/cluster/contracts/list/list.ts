import type { View } from "../../../store/port.ts";
import { Problems } from "../../field-problems.ts";
import { pageOfList, pageOfSlice } from "../../paging.ts";
import type { ClusterHandlers } from "../../world.ts";
import { listedContract, numberedContract } from "../records.ts";
import { type Contract, contracts, ofWorkspace } from "../rows.ts";
import { filtersOf, type Names, namesIn, passes } from "./filters.ts";
import { type Candidates, type ContractSlice, candidatesFor } from "./slices.ts";

export const contractListHandlers = {
  "contracts.list": ({ query }, { store, cluster, caller, fail }) => {
    const problems = new Problems();
    const filters = filtersOf(query, problems);
    if (problems.found) return fail("invalid-fields", problems.found);
    const text = query.query?.trim().toLowerCase();
    const conditions = filters.length + (text === undefined ? 0 : 1);

    return store.read(async (view) => {
      const { slices, covers } = await narrowest(
        view,
        caller.workspace.id,
        candidatesFor(caller.workspace.id, filters),
      );
      const [only, ...others] = slices;
      if (only && others.length === 0 && covers === conditions && isInOrder(only)) {
        return answer(view, await pageOfSlice(view, contracts, { ...only, reverse: true }, query));
      }
      const names = await namesIn(view, caller.workspace);
      const found = new Set((await Promise.all(slices.map((slice) => view.list(contracts, slice)))).flat());
      const rows = [...found].filter((row) => passes(filters, row, names) && mentions(row, names, text));
      return answer(
        view,
        pageOfList(
          rows.sort((a, b) => b.id - a.id),
          query,
        ),
      );
    });

    async function answer(view: View, page: Awaited<ReturnType<typeof pageOfList<Contract>>>) {
      return { ...page, results: await Promise.all(page.results.map((row) => listedContract(view, { cluster }, row))) };
    }
  },

  "contracts.list-v1": ({ query }, { store, cluster, caller }) =>
    store.read(async (view) => {
      const newestFirst = { ...ofWorkspace(caller.workspace.id), reverse: true };
      const page = await pageOfSlice(view, contracts, newestFirst, query);
      return {
        ...page,
        results: await Promise.all(page.results.map((row) => numberedContract(view, { cluster }, row))),
      };
    }),
} satisfies ClusterHandlers;

/**
 * The smallest set of contracts that holds what the filters let through. A filter without an index, and a text, look
 * at every contract of it.
 */
async function narrowest(view: View, workspaceId: number, sets: readonly Candidates[]): Promise<Candidates> {
  const whole = { slices: [ofWorkspace(workspaceId)], covers: 0 };
  const sized = await Promise.all(
    [...sets, whole].map(async (candidates) => {
      const counts = await Promise.all(candidates.slices.map((slice) => view.count(contracts, slice)));
      return { candidates, size: counts.reduce((sum, count) => sum + count, 0) };
    }),
  );
  return sized.reduce((least, each) => (each.size < least.size ? each : least)).candidates;
}

/** Whether a slice is in the order of the list: one value, or a range of numbers of contracts. */
const isInOrder = ({ by, equals }: ContractSlice): boolean => by === "number" || equals !== undefined;

/** Whether contract, entity or party is called so, or a party has such an address (DECISIONS.md, F18). */
function mentions(row: Contract, { entities }: Names, text: string | undefined): boolean {
  if (text === undefined) return true;
  const parties = row.counterparties.flatMap(({ name, poc }) => [name, poc?.email ?? ""]);
  return [row.name, entities.get(row.entity_id ?? 0) ?? "", ...parties].some((each) =>
    each.toLowerCase().includes(text),
  );
}
