import type { Activity } from "../../../src/api/activities.ts";
import type { fireActivity } from "../../../src/api/emulator/activities.ts";
import type { Fail } from "../../../src/api/failures.ts";
import type { InputOf } from "../../../src/api/operation.ts";
import { contractFacts } from "../../cluster/contracts/facts.ts";
import { dataPerPerson } from "../../cluster/contracts/lifecycle/email-events.ts";
import { type Contract, compositeId, contracts, ofWorkspace } from "../../cluster/contracts/rows.ts";
import { emailEventData } from "../../cluster/emails/email-event.ts";
import type { Transaction, View } from "../../store/port.ts";
import { amended } from "../../webhooks/amend.ts";
import { emit } from "../../webhooks/emit.ts";
import { eventBody, type Occurrence, SYSTEM } from "../../webhooks/payload.ts";
import { workspaces } from "../../world/workspaces.ts";
import type { ControlHandlers } from "../world.ts";
import { exampleContract } from "./example-contract.ts";
import { namedContract } from "./named-contract.ts";

type Body = InputOf<typeof fireActivity>["body"];
type Refusals = "no-such-contract" | "no-contract-yet" | "no-such-field" | "field-is-there";

export const activityHandlers = {
  "activities.fire": async ({ body }, { store, clock, runner, fail }) => {
    if (body.preview) {
      const { occurrence, about } = await store.transaction("activities.fire", (tx) =>
        occurrenceOf(tx, body, clock.now(), fail),
      );
      return { ...about, deliveries: [], payload: JSON.parse(eventBody(occurrence)) };
    }
    const fired = await store.transaction("activities.fire", async (tx) => {
      const { occurrence, about } = await occurrenceOf(tx, body, clock.now(), fail);
      const entries = await emit(tx, clock, occurrence);
      const outcomes = body.wait ? entries.map(({ id }) => runner.outcomeOf(id)) : [];
      return { outcomes, answer: { ...about, deliveries: entries.map(({ ref }) => Number(ref)) } };
    });
    await Promise.all(fired.outcomes);
    return fired.answer;
  },
} satisfies ControlHandlers;

/** What is to be told, and of which contract: one is made where none is named and there is none. */
async function occurrenceOf(view: Transaction, body: Body, at: number, fail: Fail<Refusals>) {
  const activity = body.activity as Activity;
  const contract =
    (await contractOf(view, body.contract_id, fail)) ?? (await exampleContract(view, activity, at, fail));
  const [usual = {}] = dataPerPerson(activity, contract, { invited: contract.signatories });
  const recipient = contract.signatories[0]?.email ?? contract.counterparties[0]?.poc?.email;
  const email =
    activity.includes("EMAIL") && recipient !== undefined ? emailEventData({ recipient, mode: "to" }, at) : {};
  const occurrence: Occurrence = {
    workspace_id: contract.workspace_id,
    activity,
    at,
    performed_by: SYSTEM,
    contract: await contractFacts(view, contract),
    data: { ...usual, ...email, ...body.data },
    amend: (document) =>
      amended(body.payload ?? document, body, {
        missing: (path, known) => fail("no-such-field", { path, known: known.join(", ") || "nothing" }),
        present: (path) => fail("field-is-there", { path }),
      }),
  };
  return { occurrence, about: { activity, contract_id: contract.id, composite_id: compositeId(contract) } };
}

async function contractOf(
  view: View,
  id: number | string | undefined,
  fail: Fail<"no-such-contract">,
): Promise<Contract | undefined> {
  if (id !== undefined) return namedContract(view, String(id), fail);
  const [last] = await view.list(contracts, { reverse: true, limit: 1 });
  if (last?.deleted_at === null) return last;
  // The index of a workspace knows its newest contract, and leaves the deleted ones out.
  const own = await Promise.all(
    (await view.list(workspaces)).map((row) =>
      view.list(contracts, { ...ofWorkspace(row.id), reverse: true, limit: 1 }),
    ),
  );
  const [newest] = own.flat().sort((a, b) => b.id - a.id);
  return newest;
}
