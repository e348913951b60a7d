import { toAddressKey } from "../../../src/base/email-address.ts";
import { emails } from "../../domain/emails.ts";
import { entities, type User, users } from "../../domain/workspaces.ts";
import { type Html, html } from "../../http/page.ts";
import type { View } from "../../store/port.ts";
import { listComments } from "../contracts/comments.ts";
import { findNextReview, findNextSignatories } from "../contracts/lifecycle/lifecycle.ts";
import { buildContractPath, readRecipientLinks } from "../contracts/links.ts";
import { formatFullName } from "../contracts/records.ts";
import { type Contract, type ContractReview, contracts, formatCompositeId } from "../contracts/rows.ts";
import { pdfMediaType } from "../documents/contract-pdf.ts";
import { findPersonId } from "../workspace/users.ts";
import { findMemberByEmail } from "../workspace/workspace-rows.ts";

export interface ContractView {
  readonly contract: Contract;
  readonly parties: readonly string[];
  readonly owner: string;
  readonly pendingActions: readonly PendingAction[];
  readonly document: { readonly path: string; readonly format: "PDF" | "DOCX" } | undefined;
}

export interface RecipientView {
  readonly person: NamedPerson;
  readonly actions: readonly PendingAction[];
  readonly comments: readonly string[];
  /** CSRF token of the forms, which is valid until the contract changes. */
  readonly token: string;
}

export function createContractView(view: View, { contract, person }: OpenedContract): ContractView {
  const entity = contract.entity_id === null ? undefined : view.get(entities, contract.entity_id);
  const owner = view.get(users, contract.business_user_id);
  const path = `${buildContractPath(contract)}/document`;
  const contentType =
    contract.versions.at(-1)?.content_type ?? (contract.template_id === null ? undefined : pdfMediaType);
  return {
    contract,
    parties: [...(entity ? [entity.name] : []), ...contract.counterparties.map(({ name }) => name)],
    owner: owner?.name ?? "",
    pendingActions: listPendingActions(view, contract),
    document:
      contentType === undefined
        ? undefined
        : {
            path: person ? `${path}?${readRecipientLinks(view, contract).buildQuery(person.email)}` : path,
            format: contentType === pdfMediaType ? "PDF" : "DOCX",
          },
  };
}

export function createRecipientView(
  view: View,
  person: NamedPerson,
  { contract, pendingActions }: ContractView,
): RecipientView {
  const contractComments = listComments(view, contract);
  const links = readRecipientLinks(view, contract);
  const id = findPersonId(view, contract.workspace_id, person.email);
  return {
    person,
    actions: filterActionsFor(pendingActions, person.email),
    comments: contractComments.filter(({ created_by }) => created_by === id).map(({ comment }) => comment),
    token: links.createCsrfToken(person.email, JSON.stringify([contract, contractComments.length])),
  };
}
/** A person who opened their own link, or who can act. */
export interface NamedPerson {
  readonly name: string;
  readonly email: string;
}

interface OpenedContract {
  readonly contract: Contract;
  /** Undefined for a visitor without a personal link. */
  readonly person: NamedPerson | undefined;
}

export type ContractLinkProblem = "no-contract" | "not-theirs";

/** The requested cluster, and the parameters of the path and the query. */
export interface ContractLink {
  readonly cluster: string;
  readonly composite: string;
  readonly query: URLSearchParams;
}

/** Returns the target of a link (DECISIONS.md, C25). */
export function openContractLink(
  view: View,
  { cluster, composite, query }: ContractLink,
): OpenedContract | ContractLinkProblem {
  const contract = view.get(contracts, Number(composite.slice(2)));
  const isAvailable = contract?.cluster_id === cluster && contract.deleted_at === null;
  if (!contract || !isAvailable || formatCompositeId(contract) !== composite) return "no-contract";
  const email = query.get("person");
  const key = query.get("key");
  if (email === null && key === null) return { contract, person: undefined };
  if (email === null || key === null || !readRecipientLinks(view, contract).isKey(email, key)) return "not-theirs";
  const member = findMemberByEmail(view, contract.workspace_id, email);
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

/** An action that every listed person can perform. One person is enough for a review or an approval. */
export type PendingAction = NamedPerson &
  ({ readonly work: "sign" | "review" } | { readonly work: "approve"; readonly approval: number });

/** The list is empty if no action is open (DECISIONS.md, C11, C22). */
export function listPendingActions(view: View, contract: Contract): readonly PendingAction[] {
  switch (contract.status) {
    case "SIGN":
      return findNextSignatories(contract.signatories).map(({ name, email }) => ({ work: "sign", name, email }));
    case "DRAFT":
    case "REDLINING": {
      const review = findNextReview(contract);
      const reviewers = review ? listReviewers(view, contract, review) : [];
      return [
        ...reviewers.map((each) => ({ work: "review", ...each }) as const),
        ...listPendingApprovals(view, contract),
      ];
    }
    default:
      return [];
  }
}

export const filterActionsFor = (pendingActions: readonly PendingAction[], email: string): readonly PendingAction[] =>
  pendingActions.filter((turn) => toAddressKey(turn.email) === toAddressKey(email));

function listPendingApprovals(view: View, contract: Contract): PendingAction[] {
  const pendingApprovals = contract.approvals.filter(({ status }) => status === "PENDING");
  return pendingApprovals.flatMap(({ id, approver_user_id, approver_role_id }) => {
    const approvers = findMembers(view, contract, approver_user_id, approver_role_id);
    return approvers.map((each) => ({ work: "approve", approval: id, ...each }) as const);
  });
}

/** Returns the reviewers of a review. The owner reviews an internal review without a reviewer. */
function listReviewers(view: View, contract: Contract, review: ContractReview): readonly NamedPerson[] {
  if (review.by === "counterparty") return listCounterpartyContacts(view, contract);
  const { reviewer_user_id, reviewer_role_id } = review;
  const owner = reviewer_user_id === null && reviewer_role_id === null ? contract.business_user_id : reviewer_user_id;
  return findMembers(view, contract, owner, reviewer_role_id);
}

/** Returns the people of the counterparty: its contacts, and other recipients of the contract's review. */
function listCounterpartyContacts(view: View, contract: Contract): readonly NamedPerson[] {
  const contacts = contract.counterparties.flatMap(({ poc }) =>
    poc ? { name: formatFullName(poc), email: poc.email } : [],
  );
  const contractEmails = view.list(emails, { by: "contract", equals: contract.id });
  const addressees = contractEmails
    .filter(({ purpose, mode }) => purpose === "redlining" && mode === "to")
    .map(({ recipient }) => ({ name: recipient, email: recipient }));
  return dropDuplicatePeople([...contacts, ...addressees]);
}

/** Returns the active member of the workspace with that number, or all members with the role. */
function findMembers(
  view: View,
  { workspace_id }: Contract,
  userId: number | null,
  roleId: number | null,
): readonly User[] {
  const isActiveMember = (user: User | undefined): user is User =>
    user?.is_active === true && user.workspace_id === workspace_id;
  if (userId !== null) return [view.get(users, userId)].filter(isActiveMember);
  if (roleId === null) return [];
  const members = view.list(users, { by: "workspace", equals: workspace_id });
  return members.filter((user) => isActiveMember(user) && user.roles.includes(roleId));
}

/** Returns each person once, with the name that comes first. */
export function dropDuplicatePeople<Person extends NamedPerson>(people: readonly Person[]): readonly Person[] {
  const peopleByEmail = new Map<string, Person>();
  for (const person of people) {
    if (!peopleByEmail.has(toAddressKey(person.email))) peopleByEmail.set(toAddressKey(person.email), person);
  }
  return [...peopleByEmail.values()];
}

function findSigningTime({ signatories }: Contract, email: string): number | null {
  const ownSignature = signatories.find((each) => toAddressKey(each.email) === toAddressKey(email));
  return ownSignature?.action?.is_success ? ownSignature.action.at : null;
}

/** Lists each person once, with their link. */
export function listParticipants(view: View, contract: Contract) {
  const { signatories, reviews, approvals } = contract;
  const groups = [
    signatories,
    listCounterpartyContacts(view, contract),
    ...reviews.map((review) => listReviewers(view, contract, review)),
    ...approvals.map((each) => findMembers(view, contract, each.approver_user_id, each.approver_role_id)),
  ];
  const pendingActions = listPendingActions(view, contract);
  const links = readRecipientLinks(view, contract);
  return dropDuplicatePeople(groups.flat()).map(({ name, email }) => ({
    name,
    email,
    path: links.buildPath(email),
    turn: [...new Set(filterActionsFor(pendingActions, email).map(({ work }) => work))],
    signedAt: findSigningTime(contract, email),
  }));
}

/** Formats a time to the minute in UTC, like the emulator's clock. */
export function renderTime(at: number): Html {
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace("T", " at ")} UTC</time>`;
}
