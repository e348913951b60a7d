import type * as z from "zod";
import type { Activity } from "../../../src/api/activities.ts";
import type { CreatedContract, ListedContract, NumberedContract } from "../../../src/api/contracts/shapes.ts";
import { type Clock, toIsoMicros, toIsoSeconds } from "../../../src/base/clock.ts";
import { toAddressKey } from "../../../src/base/email-address.ts";
import { contractTypes, entities, users } from "../../domain/workspaces.ts";
import type { Transaction, View } from "../../store/port.ts";
import { type EventContract, emitEvent, type Performer } from "../../webhooks/emit.ts";
import type { AuthenticatedMember, ClusterContext } from "../context.ts";
import { toOrgUser } from "../workspace/users.ts";
import { buildContractPath } from "./links.ts";
import { type Contract, formatCompositeId, formatReferenceId } from "./rows.ts";

type RecordContext = Pick<ClusterContext, "cluster">;

/** Returns the record for creation and for the look-up by external metadata (DECISIONS.md, F10). */
export function toCreatedContract(view: View, context: RecordContext, row: Contract): z.input<typeof CreatedContract> {
  const creator = toOrgUser(view, row.created_by);
  return { ...toContractRecord(view, context, row), contract_id: row.id, created_by: creator.email };
}

export function toListedContract(view: View, context: RecordContext, row: Contract): z.input<typeof ListedContract> {
  const { name, email } = toOrgUser(view, row.created_by);
  return {
    ...toContractRecord(view, context, row),
    created_by: name,
    created_by_user_name: name,
    created_by_user_email: email,
  };
}

export function toNumberedContract(
  view: View,
  context: RecordContext,
  row: Contract,
): z.input<typeof NumberedContract> {
  const { email } = toOrgUser(view, row.created_by);
  return { ...toContractRecord(view, context, row), id: row.id, created_by: email };
}

function toContractRecord(view: View, { cluster }: RecordContext, row: Contract) {
  const type = view.get(contractTypes, row.contract_type_id);
  return {
    id: formatCompositeId(row),
    created: toIsoSeconds(row.created_at),
    contract_name: row.name,
    // DECISIONS.md, C25
    contract_link: `${cluster.url}${buildContractPath(row)}`,
    contract_status: row.status,
    counter_party_name: row.counterparties.map((party) => party.name).join(", "),
    contract_type_name: type?.name ?? "",
    contract_type_id: row.contract_type_id,
    created_by_workspace: row.workspace_id,
    external_metadata: row.external_metadata ?? {},
    reference_id: formatReferenceId(row),
  };
}

/** Returns the contract as webhook payloads contain it (DECISIONS.md, F21). */
export function readContractFacts(view: View, row: Contract): EventContract {
  const type = view.get(contractTypes, row.contract_type_id);
  const entity = row.entity_id === null ? undefined : view.get(entities, row.entity_id);
  const typeName = type?.name ?? "";
  return {
    contract_id: row.id,
    contract_title: row.name,
    contract_type: typeName,
    contract_type_name: typeName,
    contract_type_id: row.contract_type_id,
    contract_status: row.status,
    contract_kind: row.kind,
    business_user: getPerson(view, row.business_user_id),
    legal_user: getPerson(view, row.created_by),
    created_at: toIsoMicros(row.created_at),
    counterparties: row.counterparties.map((party) => ({
      type: party.is_individual ? "Individual" : "Organization",
      ...(party.is_individual ? {} : { organization_name: party.name }),
      ...(party.poc && { poc_name: formatFullName(party.poc), poc_email: party.poc.email }),
      counterparty_id: party.counterparty_id,
    })),
    ...(row.external_metadata && { external_metadata: row.external_metadata }),
    ...(entity && {
      entity: {
        reference_id: entity.reference_id,
        name: entity.name,
        jurisdiction: entity.jurisdiction,
        type: entity.type,
      },
    }),
    contract_reference_id: formatReferenceId(row),
    ...(row.template_id !== null && { contract_template_id: row.template_id }),
  };
}

function getPerson(view: View, userId: number): Performer {
  const user = view.get(users, userId);
  return user ? { name: user.name, email: user.email } : { name: "" };
}

/** Returns the name of a contact. The last name is optional. */
export const formatFullName = (poc: { readonly first_name: string; readonly last_name: string }): string =>
  `${poc.first_name} ${poc.last_name}`.trim();

/** Returns the party that must act next (DECISIONS.md, F9), or undefined if there is none. */
export function findPendingParty(row: Contract): "CREATOR_PARTY" | "COUNTER_PARTY" | "BOTH" | undefined {
  switch (row.status) {
    case "DRAFT":
      return "CREATOR_PARTY";
    case "REDLINING": {
      const openReview = row.reviews.find((review) => review.completed_at === null);
      return openReview?.by === "counterparty" ? "COUNTER_PARTY" : "CREATOR_PARTY";
    }
    case "SIGN": {
      const pending = row.signatories.filter((signatory) => signatory.action === null);
      const awaitsCounterparty = pending.some((signatory) => signatory.is_counterparty);
      const awaitsOwnSide = pending.some((signatory) => !signatory.is_counterparty);
      return awaitsCounterparty && awaitsOwnSide ? "BOTH" : awaitsCounterparty ? "COUNTER_PARTY" : "CREATOR_PARTY";
    }
    default:
      return undefined;
  }
}

export const toPerformer = ({ user }: AuthenticatedMember): Performer => ({ name: user.name, email: user.email });

interface ContractEventContext {
  readonly clock: Clock;
  readonly performer: Performer;
  /** Virtual milliseconds (default: the present time). */
  readonly at?: number;
}

/**
 * Emits an activity that does not change the status. `data` has the other keys of `activity_data`. They are assumed,
 * because no payload with them is public.
 */
export function emitContractEvent(
  tx: Transaction,
  { clock, performer: performed_by, at = clock.now() }: ContractEventContext,
  activity: Activity,
  row: Contract,
  data: Readonly<Record<string, unknown>> = {},
): void {
  const contract = readContractFacts(tx, row);
  emitEvent(tx, clock, { workspace_id: row.workspace_id, activity, at, performed_by, contract, data });
}

export const findPartyOfContact = (
  { counterparties }: Contract,
  email: string,
): Contract["counterparties"][number] | undefined =>
  counterparties.find(({ poc }) => poc && toAddressKey(poc.email) === toAddressKey(email));
