import type * as z from "zod";
import type { CounterPartyDetails } from "../../src/api/contracts/parties.ts";
import type { Transaction } from "../store/store.ts";
import type { Party } from "./contract-rows.ts";
import { counterpartyNamed } from "./counterparty-rows.ts";
import type { Problems } from "./field-problems.ts";
import type { Template, Workspace } from "./workspaces.ts";

type Details = z.output<typeof CounterPartyDetails>;

/** What a counterparty is called: signatories name it by this (contract-api-facts.md, 4.3). */
export const nameOf = ({ is_individual, organization_name, poc_details }: Details): string =>
  is_individual ? `${poc_details.first_name} ${poc_details.last_name}`.trim() : (organization_name ?? "");

/** Checks `counter_party_details` against the template and what the workspace has configured (decisions.md, C10). */
export function checkCounterparties(
  details: readonly Details[],
  template: Template,
  workspace: Workspace,
  problems: Problems,
): void {
  const types = workspace.organization_types.map((type) => type.name);
  const jurisdictions = workspace.jurisdictions.map((jurisdiction) => jurisdiction.iso_code);
  details.forEach((party, i) => {
    const at = ["counter_party_details", i] as const;
    if (!party.is_individual && !party.organization_name) problems.add([...at, "organization_name"], "Field required");
    const kind = party.is_individual ? "Individual" : "Organisation";
    if (template.counter_party_kind !== "Both" && template.counter_party_kind !== kind) {
      problems.add(
        [...at, "is_individual"],
        `The template takes counterparties of kind ${template.counter_party_kind}`,
      );
    }
    const type = party.organization_type;
    if (type != null && !types.includes(type)) {
      problems.add([...at, "organization_type"], `Value should be one of ${types.join(", ")}`);
    }
    const code = party.organization_details?.jurisdiction_iso_code;
    if (code != null && !jurisdictions.includes(code)) {
      problems.add(
        [...at, "organization_details", "jurisdiction_iso_code"],
        `Value should be one of ${jurisdictions.join(", ")}`,
      );
    }
  });
}

/** The parties of the contract, each with its row in the workspace's list of counterparties. */
export async function partiesOf(
  tx: Transaction,
  details: readonly Details[],
  workspace: Workspace,
  at: number,
): Promise<Party[]> {
  const parties: Party[] = [];
  for (const each of details) {
    const { is_individual, poc_details: poc, organization_type = null, organization_details } = each;
    const name = nameOf(each);
    const contact = { name: `${poc.first_name} ${poc.last_name}`.trim(), email: poc.email };
    const named = { workspace_id: workspace.id, name, is_individual, organization_type, contact };
    const { id: counterparty_id } = await counterpartyNamed(tx, named, at);
    const details = organization_details ? withoutBlanks(organization_details) : null;
    parties.push({ counterparty_id, is_individual, name, organization_type, poc, organization_details: details });
  }
  return parties;
}

/** Keys that were sent as null say nothing. */
const withoutBlanks = (given: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value != null));
