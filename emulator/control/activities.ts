import type { Activity } from "../../src/api/activities.ts";
import type { Fail } from "../../src/api/failures.ts";
import { contractFacts } from "../cluster/contract-facts.ts";
import { type Contract, compositeId, contracts, ofWorkspace } from "../cluster/contract-rows.ts";
import { dataPerPerson, emailEventData } from "../cluster/happenings.ts";
import { workspaces } from "../cluster/workspaces.ts";
import type { Handlers } from "../http/handler.ts";
import type { View } from "../store/store.ts";
import { emit } from "../webhooks/emit.ts";
import { overridden } from "../webhooks/override.ts";
import { SYSTEM } from "../webhooks/payload.ts";
import type { ControlWorld } from "./home.ts";
import { namedContract } from "./named-contract.ts";

export const activityHandlers: Handlers<"activities.fire", ControlWorld, unknown> = {
  "activities.fire": async ({ body }, { store, clock, runner, fail }) => {
    const { overrides = {} } = body;
    const fired = await store.transaction("activities.fire", async (tx) => {
      const contract = await contractMeant(tx, body.contract_id, fail);
      const activity = body.activity as Activity;
      const at = clock.now();
      const [usual = {}] = dataPerPerson(activity, contract);
      const recipient = contract.signatories[0]?.email ?? contract.counterparties[0]?.poc?.email;
      const email =
        activity.includes("EMAIL") && recipient !== undefined ? emailEventData({ recipient, mode: "to" }, at) : {};
      const entries = await emit(tx, clock, {
        workspace_id: contract.workspace_id,
        activity,
        at,
        performed_by: SYSTEM,
        contract: await contractFacts(tx, contract),
        data: { ...usual, ...email, ...body.data },
        amend: (document) =>
          overridden(document, overrides, ({ path, known }) =>
            fail("no-such-field", { path, known: known.join(", ") || "nothing" }),
          ),
      });
      const outcomes = body.wait ? entries.map(({ id }) => runner.outcomeOf(id)) : [];
      const deliveries = entries.map(({ ref }) => Number(ref));
      return {
        outcomes,
        told: { activity, contract_id: contract.id, composite_id: compositeId(contract), deliveries },
      };
    });
    await Promise.all(fired.outcomes);
    return fired.told;
  },
};

async function contractMeant(
  view: View,
  id: number | string | undefined,
  fail: Fail<"no-such-contract" | "no-contract-yet">,
): Promise<Contract> {
  if (id !== undefined) return namedContract(view, String(id), fail);
  // The index of a workspace knows its newest contract, and leaves the deleted ones out.
  const own = await Promise.all(
    (await view.list(workspaces)).map((row) =>
      view.list(contracts, { ...ofWorkspace(row.id), reverse: true, limit: 1 }),
    ),
  );
  const [newest] = own.flat().sort((a, b) => b.id - a.id);
  return newest ?? fail("no-contract-yet");
}
