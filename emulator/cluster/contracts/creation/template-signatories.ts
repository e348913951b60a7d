import type * as z from "zod";
import type { SignatoryDetails } from "../../../../src/api/contracts/shapes/parties.ts";
import type { Fail } from "../../../../src/api/failures.ts";
import type { Transaction } from "../../../store/port.ts";
import type { Template, Workspace } from "../../../world/workspaces.ts";
import type { Problems } from "../../response.ts";
import { assignPersonIds } from "../../workspace/users.ts";
import { fullName } from "../records.ts";
import type { Party, Signatory } from "../rows.ts";

type Details = z.output<typeof SignatoryDetails>;
/** A signatory who has not been asked yet. */
export type SignatoryInput = Pick<Signatory, "name" | "email" | "is_counterparty" | "counterparty_name"> &
  Partial<Pick<Signatory, "title" | "note" | "sign_order">>;

/** More parties than any contract has. */
const namesShown = 50;

/** Checks `signatories` (DECISIONS.md, F11): names of parties, and an order on all of them or on none. */
export function checkSignatories(given: readonly Details[], partyNames: readonly string[], problems: Problems): void {
  const known = new Set(partyNames);
  // Told again for each signatory, so that many of both would make an answer of the square of their number.
  const choices = partyNames.slice(0, namesShown).join(", ") + (partyNames.length > namesShown ? ", …" : "");
  given.forEach(({ is_counterparty_signatory, counterparty_name }, i) => {
    if (!is_counterparty_signatory) return;
    const at = ["signatories", i, "counterparty_name"] as const;
    if (!counterparty_name) problems.add(at, "Field required");
    else if (!known.has(counterparty_name)) problems.add(at, `Value should be one of ${choices}`);
  });
  const ordered = given.filter((signatory) => signatory.sign_order != null).length;
  if (ordered === 0) return;
  if (ordered < given.length) problems.add(["signatories"], "sign_order should be set on all signatories or on none");
  else if (!given.some((signatory) => signatory.is_counterparty_signatory)) {
    problems.add(["signatories"], "With sign_order at least one counterparty signatory is required");
  }
}

/**
 * Who signs (DECISIONS.md, C10 and C11): those of the payload; else the contact of each counterparty, in order, then
 * the template's own slot. A slot that must be filled is filled by payload or template, or refused.
 */
export function resolveSignatories(
  given: readonly Details[],
  parties: readonly Party[],
  { creator_slot: slot }: Template,
  fail: Fail<"no-creator-slot" | "creator-slot-empty">,
): SignatoryInput[] {
  const ownSide = given.some((signatory) => !signatory.is_counterparty_signatory);
  if (ownSide && !slot) return fail("no-creator-slot");
  if (slot?.required && !slot.signatory && !ownSide) return fail("creator-slot-empty");

  const own: SignatoryInput[] = slot?.signatory
    ? [{ ...slot.signatory, is_counterparty: false, counterparty_name: null }]
    : [];
  if (given.length === 0) {
    const contacts = parties.flatMap(({ name, poc }): SignatoryInput[] =>
      poc ? [{ name: fullName(poc), email: poc.email, is_counterparty: true, counterparty_name: name }] : [],
    );
    return [...contacts, ...own];
  }
  const named = given.map(({ name, email, is_counterparty_signatory, counterparty_name, title, note, sign_order }) => ({
    name,
    email,
    is_counterparty: is_counterparty_signatory,
    counterparty_name: counterparty_name ?? null,
    title: title ?? "",
    note: note ?? null,
    sign_order: sign_order ?? null,
  }));
  if (ownSide || !slot?.required) return named;
  // The template's own signatory comes last, also where the payload gives an order.
  const last = named.reduce((most, { sign_order }) => Math.max(most, sign_order ?? 0), 0);
  return [...named, ...own.map((signatory) => ({ ...signatory, sign_order: last > 0 ? last + 1 : null }))];
}

/** The rows of people who are to sign, who have an id each from then on (DECISIONS.md, C13). */
export async function signatoryRows(
  tx: Transaction,
  workspace: Workspace,
  people: readonly SignatoryInput[],
  at: number,
): Promise<Signatory[]> {
  const emails = people.map(({ email }) => email);
  await assignPersonIds(tx, workspace.id, emails);
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
