import type { Handlers } from "../http/handler.ts";
import { filtersOf, type Names, namesIn } from "./contract-filters.ts";
import { listedContract } from "./contract-records.ts";
import { type Contract, contracts } from "./contract-rows.ts";
import { Problems } from "./field-problems.ts";
import type { ClusterWorld, Member } from "./home.ts";
import { pageOfList, pageOfSlice } from "./pages.ts";

export const contractListHandlers: Handlers<"contracts.list", ClusterWorld, Member> = {
  "contracts.list": ({ query }, { store, cluster, caller, fail }) => {
    const problems = new Problems();
    const passes = filtersOf(query, problems);
    if (problems.found) return fail("invalid-fields", problems.found);

    return store.read(async (view) => {
      const newestFirst = { by: "workspace", equals: caller.workspace.id, reverse: true } as const;
      const text = query.query?.trim().toLowerCase();
      const plain = text === undefined && !Object.keys(query).some((key) => key.startsWith("filter__"));
      const names = await namesIn(view, caller.workspace);
      const page = plain
        ? await pageOfSlice(view, contracts, newestFirst, query)
        : pageOfList(
            (await view.list(contracts, newestFirst)).filter((row) => passes(row, names) && mentions(row, names, text)),
            query,
          );
      return { ...page, results: await Promise.all(page.results.map((row) => listedContract(view, { cluster }, row))) };
    });
  },
};

/** Whether contract, entity or party is called so, or a party has such an address (contract-api-facts.md, 4.11). */
function mentions(row: Contract, { entities }: Names, text: string | undefined): boolean {
  if (text === undefined) return true;
  const parties = row.counterparties.flatMap(({ name, poc }) => [name, poc?.email ?? ""]);
  return [row.name, entities.get(row.entity_id ?? 0) ?? "", ...parties].some((each) =>
    each.toLowerCase().includes(text),
  );
}
