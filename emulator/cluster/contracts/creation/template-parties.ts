import type * as z from "zod";
import type { CounterPartyDetails } from "../../../../src/api/contracts/shapes/parties.ts";
import type { Template, Workspace } from "../../../world/workspaces.ts";
import type { Problems } from "../../field-problems.ts";
import { fullName } from "../full-name.ts";
import type { PartyInput } from "../parties.ts";

type Details = z.output<typeof CounterPartyDetails>;

/** What a counterparty is called: signatories name it by this (DECISIONS.md, F11). */
export const nameOf = ({ is_individual, organization_name, poc_details }: Details): string =>
  is_individual ? fullName(poc_details) : (organization_name ?? "");

/** Checks `counter_party_details` against the template and what the workspace has configured (DECISIONS.md, C10). */
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

/** The parties that `counter_party_details` names. */
export const partyInputs = (details: readonly Details[]): PartyInput[] =>
  details.map((each) => ({
    name: nameOf(each),
    is_individual: each.is_individual,
    organization_type: each.organization_type ?? null,
    poc: each.poc_details,
    organization_details: each.organization_details ? withoutBlanks(each.organization_details) : null,
  }));

/** Keys that were sent as null say nothing. */
const withoutBlanks = (given: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value != null));
