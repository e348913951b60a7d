import type * as z from "zod";
import type { CreateContractRequest } from "../../../../src/api/contracts/contracts.ts";
import type { CounterPartyDetails, SignatoryDetails } from "../../../../src/api/contracts/shapes.ts";
import type { Fail } from "../../../../src/api/failures.ts";
import type { ContractTemplate, Workspace } from "../../../domain/workspaces.ts";
import { ProblemCollector } from "../../../http/dialects/field-problems.ts";
import type { HandlerCall } from "../../../http/handler.ts";
import type { Transaction, View } from "../../../store/port.ts";
import type { AuthenticatedMember } from "../../context.ts";
import { applyDefaultAnswers, reportUnknownAnswers, validateAnswers } from "../../templates/answers.ts";
import { getOrCreatePersonId } from "../../workspace/users.ts";
import { findEntityByReference, findTemplate, formatRowNotFound } from "../../workspace/workspace-rows.ts";
import { normalizeMetadata, requireKnownConfiguration } from "../external-metadata.ts";
import { type PartyInput, resolveParties } from "../parties.ts";
import { formatFullName } from "../records.ts";
import type { ContractParty, ContractSignatory } from "../rows.ts";
import { createContract } from "../rows.ts";

type Request = z.output<typeof CreateContractRequest>;
type RejectionCode = "invalid-fields" | "no-creator-slot" | "creator-slot-empty" | "unknown-object-configuration";

/** Returns the draft for a creation request (DECISIONS.md, C10, F11). */
export function draftFromTemplate(
  tx: Transaction,
  caller: AuthenticatedMember,
  body: Request,
  at: number,
  { fail, finding }: Pick<HandlerCall<RejectionCode, unknown>, "fail" | "finding">,
) {
  const { workspace } = caller;
  const problems = new ProblemCollector();
  const template = findUsableTemplate(tx, workspace, body.contract_template_id);
  if (typeof template === "string") return fail("invalid-fields", { contract_template_id: [template] });
  const entity = findEntityByReference(tx, workspace, body.entity_reference_id);
  if (!entity && body.entity_reference_id != null) {
    problems.add(["entity_reference_id"], formatRowNotFound(body.entity_reference_id));
  }
  reportUnknownAnswers(finding, "contract_data.", template.attributes, body.contract_data);
  const contract_data = applyDefaultAnswers(template.attributes, body.contract_data);
  problems.addAll(["contract_data"], validateAnswers(template.attributes, contract_data));
  checkCounterparties(body.counter_party_details, template, workspace, problems);
  const signatories = body.signatories ?? [];
  checkSignatories(signatories, body.counter_party_details.map(formatName), problems);
  if (problems.fields) return fail("invalid-fields", problems.fields);
  requireKnownConfiguration(body.external_metadata, fail);

  const { parties, changes } = resolveParties(tx, toPartyInputs(body.counter_party_details), workspace, at);
  const people = resolveSignatories(signatories, parties, template, fail);
  const partyNames = parties.map((party) => party.name).join(", ");
  const draft = createContract(tx, caller, at, {
    name: body.contract_name ?? (partyNames ? `${template.name} - ${partyNames}` : template.name),
    kind: "TEMPLATE_CONTRACT",
    contract_type_id: template.contract_type_id,
    template_id: template.id,
    counterparty_review: template.counterparty_review,
    entity_id: entity?.id ?? null,
    contract_data,
    counterparties: [...parties],
    signatories: createSignatoryRows(tx, workspace, people, at),
    external_metadata: normalizeMetadata(body.external_metadata),
  });
  return { draft, changes };
}

function findUsableTemplate(view: View, workspace: Workspace, id: number): ContractTemplate | string {
  const template = findTemplate(view, workspace, id);
  if (!template) return formatRowNotFound(id);
  return template.signature_capable ? template : "This template cannot be sent for signature";
}

type CounterpartyDetails = z.output<typeof CounterPartyDetails>;

/** Signatories refer to a counterparty by this name (DECISIONS.md, F11). */
const formatName = ({ is_individual, organization_name, poc_details }: CounterpartyDetails): string =>
  is_individual ? formatFullName(poc_details) : (organization_name ?? "");

/** Checks `counter_party_details` against the template and the configuration of the workspace (DECISIONS.md, C10). */
function checkCounterparties(
  details: readonly CounterpartyDetails[],
  template: ContractTemplate,
  workspace: Workspace,
  problems: ProblemCollector,
): void {
  const types = workspace.organization_types.map((type) => type.name);
  const jurisdictions = workspace.jurisdictions.map((jurisdiction) => jurisdiction.iso_code);
  details.forEach((party, i) => {
    const path = ["counter_party_details", i] as const;
    if (!party.is_individual && !party.organization_name)
      problems.add([...path, "organization_name"], "Field required");
    const kind = party.is_individual ? "Individual" : "Organisation";
    if (template.counter_party_kind !== "Both" && template.counter_party_kind !== kind) {
      problems.add(
        [...path, "is_individual"],
        `The template takes counterparties of kind ${template.counter_party_kind}`,
      );
    }
    const type = party.organization_type;
    if (type != null && !types.includes(type)) {
      problems.add([...path, "organization_type"], `Value should be one of ${types.join(", ")}`);
    }
    const code = party.organization_details?.jurisdiction_iso_code;
    if (code != null && !jurisdictions.includes(code)) {
      problems.add(
        [...path, "organization_details", "jurisdiction_iso_code"],
        `Value should be one of ${jurisdictions.join(", ")}`,
      );
    }
  });
}

export const toPartyInputs = (details: readonly CounterpartyDetails[]): PartyInput[] =>
  details.map((each) => ({
    name: formatName(each),
    is_individual: each.is_individual,
    organization_type: each.organization_type ?? null,
    poc: each.poc_details,
    organization_details: each.organization_details ? omitNullish(each.organization_details) : null,
  }));

const omitNullish = (record: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value != null));

type TemplateSignatoriesDetails = z.output<typeof SignatoryDetails>;
export type SignatoryInput = Pick<ContractSignatory, "name" | "email" | "is_counterparty" | "counterparty_name"> &
  Partial<Pick<ContractSignatory, "title" | "note" | "sign_order">>;

/** Maximum number of names in an error message, which real contracts do not exceed. */
const maxShownNames = 50;

/** Signatories refer to parties by name, and either all or none have an order (DECISIONS.md, F11). */
function checkSignatories(
  signatories: readonly TemplateSignatoriesDetails[],
  partyNames: readonly string[],
  problems: ProblemCollector,
): void {
  const names = new Set(partyNames);
  // The list is repeated for each signatory, so the response would grow quadratically.
  const choices = partyNames.slice(0, maxShownNames).join(", ") + (partyNames.length > maxShownNames ? ", …" : "");
  signatories.forEach(({ is_counterparty_signatory, counterparty_name }, i) => {
    if (!is_counterparty_signatory) return;
    const path = ["signatories", i, "counterparty_name"] as const;
    if (!counterparty_name) problems.add(path, "Field required");
    else if (!names.has(counterparty_name)) problems.add(path, `Value should be one of ${choices}`);
  });
  const orderedCount = signatories.filter((signatory) => signatory.sign_order != null).length;
  if (orderedCount === 0) return;
  if (orderedCount < signatories.length)
    problems.add(["signatories"], "sign_order should be set on all signatories or on none");
  else if (!signatories.some((signatory) => signatory.is_counterparty_signatory)) {
    problems.add(["signatories"], "With sign_order at least one counterparty signatory is required");
  }
}

/** The template's slot comes after the request's signatories or the parties' contacts (DECISIONS.md, C10, C11). */
function resolveSignatories(
  signatories: readonly TemplateSignatoriesDetails[],
  parties: readonly ContractParty[],
  { creator_slot: slot }: ContractTemplate,
  fail: Fail<"no-creator-slot" | "creator-slot-empty">,
): SignatoryInput[] {
  const hasOwnSignatory = signatories.some((signatory) => !signatory.is_counterparty_signatory);
  if (hasOwnSignatory && !slot) return fail("no-creator-slot");
  if (slot?.required && !slot.signatory && !hasOwnSignatory) return fail("creator-slot-empty");

  const creatorSignatories: SignatoryInput[] = slot?.signatory
    ? [{ ...slot.signatory, is_counterparty: false, counterparty_name: null }]
    : [];
  if (signatories.length === 0) return [...listContactSignatories(parties), ...creatorSignatories];
  const inputs = signatories.map(
    ({ name, email, is_counterparty_signatory, counterparty_name, title, note, sign_order }) => ({
      name,
      email,
      is_counterparty: is_counterparty_signatory,
      counterparty_name: counterparty_name ?? null,
      title: title ?? "",
      note: note ?? null,
      sign_order: sign_order ?? null,
    }),
  );
  if (hasOwnSignatory || !slot?.required) return inputs;
  // The template's own signatory comes last, even if the request defines an order.
  const lastOrder = inputs.reduce((max, { sign_order }) => Math.max(max, sign_order ?? 0), 0);
  return [
    ...inputs,
    ...creatorSignatories.map((signatory) => ({ ...signatory, sign_order: lastOrder > 0 ? lastOrder + 1 : null })),
  ];
}

export const listContactSignatories = (parties: readonly ContractParty[]): SignatoryInput[] =>
  parties.flatMap(({ name, poc }) =>
    poc ? [{ name: formatFullName(poc), email: poc.email, is_counterparty: true, counterparty_name: name }] : [],
  );

/** Returns the rows of the signatories, each with a permanent id (DECISIONS.md, C13). */
export function createSignatoryRows(
  tx: Transaction,
  workspace: Workspace,
  people: readonly SignatoryInput[],
  at: number,
): ContractSignatory[] {
  for (const { email } of people) getOrCreatePersonId(tx, workspace.id, email);
  return people.map((person) => ({
    title: "",
    note: null,
    sign_order: null,
    ...person,
    id: tx.next("signatory"),
    created_at: at,
    sent_at: null,
    action: null,
  }));
}
