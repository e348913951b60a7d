import type { Activity } from "../../../src/api/activities.ts";
import type { Fail } from "../../../src/api/failures.ts";
import { draftFromTemplate } from "../../cluster/contracts/creation/template-contract.ts";
import { type Contract, contracts } from "../../cluster/contracts/rows.ts";
import type { Transaction, View } from "../../store/port.ts";
import { subscriptions } from "../../webhooks/subscriptions.ts";
import { type Template, templates, users, workspaces } from "../../world/workspaces.ts";

const counterparty = {
  is_individual: false,
  organization_name: "Acme Inc.",
  poc_details: { first_name: "Jo", last_name: "Doe", email: "jo@acme.example" },
};

/**
 * A draft that an activity can be about where nobody has created a contract yet. Nobody is told that it came to be. It is
 * of the workspace that has subscribed to the activity, else of the first one with a template that asks for nothing.
 */
export async function exampleContract(
  tx: Transaction,
  activity: Activity,
  at: number,
  fail: Fail<"no-contract-yet">,
): Promise<Contract> {
  const template = await templateFor(tx, activity);
  const workspace = template && (await tx.get(workspaces, template.workspace_id));
  const user = workspace && (await tx.get(users, workspace.acting_user_id));
  if (!template || !workspace || !user) return fail("no-contract-yet");
  const body = {
    contract_template_id: template.id,
    contract_data: {},
    counter_party_details: [counterparty],
    is_embedded_contract: false,
  };
  const { draft } = await draftFromTemplate(tx, { workspace, user }, body, at, {
    fail: () => fail("no-contract-yet"),
    finding: () => {},
  });
  tx.put(contracts, draft);
  return draft;
}

async function templateFor(view: View, activity: Activity): Promise<Template | undefined> {
  const wanting = (await view.list(subscriptions)).filter((one) => one.only_for_activities.includes(activity));
  const fitting = (await view.list(templates)).filter(asksForNothing);
  const wanted = fitting.find((template) => wanting.some((one) => one.workspace_id === template.workspace_id));
  return wanted ?? fitting[0];
}

const asksForNothing = ({ signature_capable, archived, attributes, creator_slot, counter_party_kind }: Template) =>
  signature_capable &&
  !archived &&
  counter_party_kind !== "Individual" &&
  attributes.every(({ required, default_value }) => !required || default_value != null) &&
  !(creator_slot?.required && !creator_slot.signatory);
