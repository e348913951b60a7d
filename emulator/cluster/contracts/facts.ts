import { isoMicros } from "../../../src/base/clock.ts";
import type { View } from "../../store/port.ts";
import type { ContractFacts, Person } from "../../webhooks/payload.ts";
import { contractTypes, entities, users } from "../../world/workspaces.ts";
import { fullName } from "./full-name.ts";
import { type Contract, referenceId } from "./rows.ts";

/** What webhook payloads say of a contract, as it stands in `row` (DECISIONS.md, F21). */
export async function contractFacts(view: View, row: Contract): Promise<ContractFacts> {
  const type = await view.get(contractTypes, row.contract_type_id);
  const entity = row.entity_id === null ? undefined : await view.get(entities, row.entity_id);
  const typeName = type?.name ?? "";
  return {
    contract_id: row.id,
    contract_title: row.name,
    contract_type: typeName,
    contract_type_name: typeName,
    contract_type_id: row.contract_type_id,
    contract_status: row.status,
    contract_kind: row.kind,
    business_user: await personOf(view, row.business_user_id),
    legal_user: await personOf(view, row.created_by),
    created_at: isoMicros(row.created_at),
    counterparties: row.counterparties.map((party) => ({
      type: party.is_individual ? "Individual" : "Organization",
      ...(party.is_individual ? {} : { organization_name: party.name }),
      ...(party.poc && {
        poc_name: fullName(party.poc),
        poc_email: party.poc.email,
      }),
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
    contract_reference_id: referenceId(row),
    ...(row.template_id !== null && { contract_template_id: row.template_id }),
  };
}

/** Name and address of a user, as payloads name people. */
export async function personOf(view: View, userId: number): Promise<Person> {
  const user = await view.get(users, userId);
  return user ? { name: user.name, email: user.email } : { name: "" };
}
