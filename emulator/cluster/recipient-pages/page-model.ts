import { toAddressKey } from "../../../src/schemes/email-hash.ts";
import { entities, type User, users } from "../../domain/workspaces.ts";
import type { View } from "../../store/port.ts";
import { listComments } from "../contracts/comments.ts";
import { buildContractPath, readRecipientLinks } from "../contracts/links.ts";
import { formatFullName } from "../contracts/records.ts";
import { type Contract, contracts, formatCompositeId } from "../contracts/rows.ts";
import { pdfMediaType } from "../documents/contract-pdf.ts";
import { findPersonId } from "../workspace/users.ts";
import { findMemberByEmail } from "../workspace/workspace-rows.ts";
import { filterActionsFor, listPendingActions, type PendingAction } from "./pending-actions.ts";

export interface ContractView {
  readonly contract: Contract;
  readonly parties: readonly string[];
  readonly owner: string;
  readonly pendingActions: readonly PendingAction[];
  readonly document: { readonly path: string; readonly format: "PDF" | "DOCX" } | undefined;
}

export interface RecipientView {
  readonly person: ContractRecipient;
  readonly actions: readonly PendingAction[];
  readonly comments: readonly string[];
  /** CSRF token of the forms, which is valid until the contract changes. */
  readonly token: string;
}

export async function createContractView(view: View, { contract, person }: OpenedContract): Promise<ContractView> {
  const entity = contract.entity_id === null ? undefined : await view.get(entities, contract.entity_id);
  const owner = await view.get(users, contract.business_user_id);
  const path = `${buildContractPath(contract)}/document`;
  const contentType =
    contract.versions.at(-1)?.content_type ?? (contract.template_id === null ? undefined : pdfMediaType);
  return {
    contract,
    parties: [...(entity ? [entity.name] : []), ...contract.counterparties.map(({ name }) => name)],
    owner: owner?.name ?? "",
    pendingActions: await listPendingActions(view, contract),
    document:
      contentType === undefined
        ? undefined
        : {
            path: person ? `${path}?${(await readRecipientLinks(view, contract)).buildQuery(person.email)}` : path,
            format: contentType === pdfMediaType ? "PDF" : "DOCX",
          },
  };
}

export async function createRecipientView(
  view: View,
  person: ContractRecipient,
  { contract, pendingActions }: ContractView,
): Promise<RecipientView> {
  const contractComments = await listComments(view, contract);
  const links = await readRecipientLinks(view, contract);
  const id = await findPersonId(view, contract.workspace_id, person.email);
  return {
    person,
    actions: filterActionsFor(pendingActions, person.email),
    comments: contractComments.filter(({ created_by }) => created_by === id).map(({ comment }) => comment),
    token: links.createCsrfToken(person.email, JSON.stringify([contract, contractComments.length])),
  };
}
/** A person who opened their own link. */
export interface ContractRecipient {
  readonly name: string;
  readonly email: string;
}

export interface OpenedContract {
  readonly contract: Contract;
  /** Undefined for a visitor without a personal link. */
  readonly person: ContractRecipient | undefined;
}

export type ContractLinkProblem = "no-contract" | "not-theirs";

/** The requested cluster, and the parameters of the path and the query. */
export interface ContractLink {
  readonly cluster: string;
  readonly composite: string;
  readonly query: URLSearchParams;
}

/** Returns the target of a link (DECISIONS.md, C25). */
export async function openContractLink(
  view: View,
  { cluster, composite, query }: ContractLink,
): Promise<OpenedContract | ContractLinkProblem> {
  const contract = await view.get(contracts, Number(composite.slice(2)));
  const isAvailable = contract?.cluster_id === cluster && contract.deleted_at === null;
  if (!contract || !isAvailable || formatCompositeId(contract) !== composite) return "no-contract";
  const email = query.get("person");
  const key = query.get("key");
  if (email === null && key === null) return { contract, person: undefined };
  if (email === null || key === null || !(await readRecipientLinks(view, contract)).isKey(email, key))
    return "not-theirs";
  const member = await findMemberByEmail(view, contract.workspace_id, email);
  return { contract, person: { name: findNameOnContract(contract, email, member), email: toAddressKey(email) } };
}

function findNameOnContract({ signatories, counterparties }: Contract, email: string, member: User | undefined) {
  const hasAddress = (candidate: string) => toAddressKey(candidate) === toAddressKey(email);
  const contact = counterparties.find(({ poc }) => poc && hasAddress(poc.email))?.poc;
  return (
    signatories.find((each) => hasAddress(each.email))?.name ??
    (contact && formatFullName(contact)) ??
    member?.name ??
    toAddressKey(email)
  );
}
