import type { Activity } from "../../src/api/activities.ts";
import { contractFacts } from "../cluster/contract-facts.ts";
import { compositeId } from "../cluster/contract-rows.ts";
import { dataPerPerson, emailEventData } from "../cluster/happenings.ts";
import type { Handlers, World } from "../http/handler.ts";
import { emit } from "../webhooks/emit.ts";
import { SYSTEM } from "../webhooks/payload.ts";
import { namedContract } from "./named-contract.ts";

export const activityHandlers: Handlers<"activities.fire", World, unknown> = {
  "activities.fire": ({ body }, { store, clock, fail }) =>
    store.transaction("activities.fire", async (tx) => {
      const contract = await namedContract(tx, String(body.contract_id), fail);
      const activity = body.activity as Activity;
      const at = clock.now();
      const [usual = {}] = dataPerPerson(activity, contract);
      const recipient = contract.signatories[0]?.email ?? contract.counterparties[0]?.poc?.email;
      const email = activity.includes("EMAIL") && recipient !== undefined ? emailEventData(recipient, at) : {};
      await emit(tx, clock, {
        workspace_id: contract.workspace_id,
        activity,
        at,
        performed_by: SYSTEM,
        contract: await contractFacts(tx, contract),
        data: { ...usual, ...email, ...body.data },
      });
      return { activity, contract_id: contract.id, composite_id: compositeId(contract) };
    }),
};
