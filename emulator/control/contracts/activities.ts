import type { Activity } from "../../../src/api/activities.ts";
import type { fireActivity } from "../../../src/api/emulator/activities.ts";
import type { Fail } from "../../../src/api/failures.ts";
import type { InputOf } from "../../../src/api/operation.ts";
import { type Clock, toIsoMillis } from "../../../src/base/clock.ts";
import { groupBy } from "../../../src/base/object.ts";
import { draftFromTemplate } from "../../cluster/contracts/creation/template-contract.ts";
import { createActivityDataPerPerson } from "../../cluster/contracts/lifecycle/transition.ts";
import { readContractFacts } from "../../cluster/contracts/records.ts";
import {
  type Contract,
  contracts,
  formatCompositeId,
  selectContractsOfWorkspace,
} from "../../cluster/contracts/rows.ts";
import { buildEmailEventData } from "../../cluster/emails.ts";
import { type ContractTemplate, templates, users, workspaces } from "../../domain/workspaces.ts";
import type { Store, Transaction, View } from "../../store/port.ts";
import { getWebhookObserver, webhookEvents } from "../../webhooks/deliveries.ts";
import { createAmendedDocument, type DomainEvent, emitEvent, systemPerformer } from "../../webhooks/emit.ts";
import { applyAmendments, webhookRows } from "../../webhooks/webhooks.ts";
import type { ControlHandlers } from "../context.ts";
import { requireContractById } from "./contracts.ts";

type FireRequest = InputOf<typeof fireActivity>["body"];
type RejectionCode =
  | "no-such-contract"
  | "no-such-webhook"
  | "no-contract-or-template"
  | "no-such-field"
  | "field-exists";

const maxCountedEvents = 10_000;

export const activityHandlers = {
  "activities.fire": async ({ body }, { store, clock, runner, fail }) => {
    if (body.preview) {
      return runAndRollBack(store, (tx) => {
        const { occurrence: event, eventFields, isNewContract } = buildEvent(tx, body, clock.now(), fail);
        const payload = { ...createAmendedDocument(event) };
        return { ...eventFields, deliveries: [], payload, ...(isNewContract && { is_new_contract: true }) };
      });
    }
    const result = await store.transaction("activities.fire", (tx) => {
      const { occurrence: event, eventFields } = buildEvent(tx, body, clock.now(), fail);
      const entries = emitEvent(tx, clock, event, body.webhook);
      if (body.wait && entries.length === 0) fail("no-subscriber", { reason: explainNoSubscriber(clock, body) });
      const outcomes = body.wait ? entries.map(({ id }) => runner.waitForOutcome(id)) : [];
      return { outcomes, response: { ...eventFields, deliveries: entries.map(({ ref }) => Number(ref)) } };
    });
    await Promise.all(result.outcomes);
    return result.response;
  },

  "activities.list": (_, { store }) => {
    const events = store.list(webhookEvents, { reverse: true, limit: maxCountedEvents }).toReversed();
    const groups = groupBy(events, ({ workspace_id, activity }) => `${workspace_id}:${activity}`);
    return [...groups.values()].map((group) => ({
      workspace_id: group[0]!.workspace_id,
      workspace: store.get(workspaces, group[0]!.workspace_id)?.name ?? "",
      activity: group[0]!.activity,
      count: group.length,
      first_at: toIsoMillis(group[0]!.at),
      last_at: toIsoMillis(group.at(-1)!.at),
    }));
  },
} satisfies ControlHandlers;

/** Runs a transaction and rolls it back, so that a preview leaves no contract behind. Returns the result. */
async function runAndRollBack<T>(store: Store, work: (tx: Transaction) => T): Promise<T> {
  const rollback = new Error("rolled back");
  let result: T;
  try {
    await store.transaction("activities.fire", (tx) => {
      result = work(tx);
      throw rollback;
    });
  } catch (error) {
    if (error !== rollback) throw error;
  }
  return result!;
}

function explainNoSubscriber(clock: Clock, { activity, webhook }: FireRequest): string {
  if (getWebhookObserver(clock)?.isSilent(activity)) return `The observed service sends no webhooks for ${activity}`;
  return webhook === undefined
    ? `No webhook is subscribed to ${activity}`
    : `Webhook ${webhook} is not subscribed to ${activity}`;
}

/** Returns the activity to emit and its contract. A contract is created if none is named and none exists. */
function buildEvent(view: Transaction, body: FireRequest, at: number, fail: Fail<RejectionCode>) {
  const activity = body.activity as Activity;
  const { webhook: id } = body;
  const webhook = id === undefined ? undefined : view.get(webhookRows, id);
  if (id !== undefined && !webhook) fail("no-such-webhook", { id });
  const workspaceId = webhook?.workspace_id;
  const existingContract = getContract(view, body.contract_id, workspaceId, fail);
  const contract = existingContract ?? createExampleContract(view, activity, workspaceId, at, fail);
  const [defaultData = {}] = createActivityDataPerPerson(activity, contract, { invitees: contract.signatories });
  const recipient = contract.signatories[0]?.email ?? contract.counterparties[0]?.poc?.email;
  const email =
    activity.includes("EMAIL") && recipient !== undefined ? buildEmailEventData({ recipient, mode: "to" }, at) : {};
  const event: DomainEvent = {
    workspace_id: contract.workspace_id,
    activity,
    at,
    performed_by: systemPerformer,
    contract: readContractFacts(view, contract),
    data: { ...defaultData, ...email, ...body.data },
    amend: (document) => applyAmendments(body.payload ?? document, body, fail),
  };
  return {
    occurrence: event,
    eventFields: { activity, contract_id: contract.id, composite_id: formatCompositeId(contract) },
    isNewContract: existingContract === undefined,
  };
}

function getContract(
  view: View,
  id: number | string | undefined,
  workspace: number | undefined,
  fail: Fail<"no-such-contract">,
): Contract | undefined {
  if (id !== undefined) return requireContractById(view, String(id), fail);
  const ids = workspace === undefined ? view.list(workspaces).map(({ id }) => id) : [workspace];
  // The index of a workspace ends with its newest contract and excludes deleted contracts.
  const workspaceContracts = ids.map((id) =>
    view.list(contracts, { ...selectContractsOfWorkspace(id), reverse: true, limit: 1 }),
  );
  const [newest] = workspaceContracts.flat().sort((a, b) => b.id - a.id);
  return newest;
}

const exampleCounterparty = {
  is_individual: false,
  organization_name: "Acme Inc.",
  poc_details: { first_name: "Jo", last_name: "Doe", email: "jo@acme.example" },
};

/**
 * Creates a draft for an activity if no contract exists yet. Its creation is not emitted. The draft belongs to the
 * named workspace, to a workspace that subscribes to the activity, or to the first workspace with a template without
 * required fields.
 */
function createExampleContract(
  tx: Transaction,
  activity: Activity,
  workspaceId: number | undefined,
  at: number,
  fail: Fail<"no-contract-or-template">,
): Contract {
  const template = findTemplate(tx, activity, workspaceId);
  const workspace = template && tx.get(workspaces, template.workspace_id);
  const user = workspace && tx.get(users, workspace.acting_user_id);
  if (!template || !workspace || !user) return fail("no-contract-or-template");
  const body = {
    contract_template_id: template.id,
    contract_data: {},
    counter_party_details: [exampleCounterparty],
    is_embedded_contract: false,
  };
  const { draft } = draftFromTemplate(tx, { workspace, user }, body, at, {
    fail: () => fail("no-contract-or-template"),
    finding: () => {},
  });
  tx.put(contracts, draft);
  return draft;
}

function findTemplate(view: View, activity: Activity, workspaceId: number | undefined): ContractTemplate | undefined {
  const subscribers = view.list(webhookRows).filter((webhook) => webhook.only_for_activities.includes(activity));
  const candidates = view
    .list(templates)
    .filter((template) => isBlank(template) && (workspaceId === undefined || template.workspace_id === workspaceId));
  const preferred = candidates.find((template) =>
    subscribers.some((webhook) => webhook.workspace_id === template.workspace_id),
  );
  return preferred ?? candidates[0];
}

const isBlank = ({ signature_capable, archived, attributes, creator_slot, counter_party_kind }: ContractTemplate) =>
  signature_capable &&
  !archived &&
  counter_party_kind !== "Individual" &&
  attributes.every(({ required, default_value }) => !required || default_value != null) &&
  !(creator_slot?.required && !creator_slot.signatory);
