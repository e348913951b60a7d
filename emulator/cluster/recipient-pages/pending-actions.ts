import { toAddressKey } from "../../../src/schemes/email-hash.ts";
import { emails } from "../../domain/emails.ts";
import { type User, users } from "../../domain/workspaces.ts";
import { type Html, html } from "../../http/page.ts";
import type { View } from "../../store/port.ts";
import { findNextReview, findNextSignatories } from "../contracts/lifecycle/lifecycle.ts";
import { readRecipientLinks } from "../contracts/links.ts";
import { formatFullName } from "../contracts/records.ts";
import type { Contract, ContractReview } from "../contracts/rows.ts";

interface NamedPerson {
  readonly name: string;
  readonly email: string;
}

/** An action that every listed person can perform. One person is enough for a review or an approval. */
export type PendingAction = NamedPerson &
  ({ readonly work: "sign" | "review" } | { readonly work: "approve"; readonly approval: number });

/** The list is empty if no action is open (DECISIONS.md, C11, C22). */
export async function listPendingActions(view: View, contract: Contract): Promise<readonly PendingAction[]> {
  switch (contract.status) {
    case "SIGN":
      return findNextSignatories(contract.signatories).map(({ name, email }) => ({ work: "sign", name, email }));
    case "DRAFT":
    case "REDLINING": {
      const review = findNextReview(contract);
      const reviewers = review ? await listReviewers(view, contract, review) : [];
      return [
        ...reviewers.map((each) => ({ work: "review", ...each }) as const),
        ...(await listPendingApprovals(view, contract)),
      ];
    }
    default:
      return [];
  }
}

export const filterActionsFor = (pendingActions: readonly PendingAction[], email: string): readonly PendingAction[] =>
  pendingActions.filter((turn) => toAddressKey(turn.email) === toAddressKey(email));

async function listPendingApprovals(view: View, contract: Contract): Promise<PendingAction[]> {
  const approvalActions: PendingAction[] = [];
  for (const { id, status, approver_user_id, approver_role_id } of contract.approvals) {
    if (status !== "PENDING") continue;
    const approvers = await findMembers(view, contract, approver_user_id, approver_role_id);
    approvalActions.push(...approvers.map((each) => ({ work: "approve", approval: id, ...each }) as const));
  }
  return approvalActions;
}

/** Returns the reviewers of a review. The owner reviews an internal review without a reviewer. */
async function listReviewers(view: View, contract: Contract, review: ContractReview): Promise<readonly NamedPerson[]> {
  if (review.by === "counterparty") return listCounterpartyContacts(view, contract);
  const { reviewer_user_id, reviewer_role_id } = review;
  const owner = reviewer_user_id === null && reviewer_role_id === null ? contract.business_user_id : reviewer_user_id;
  return findMembers(view, contract, owner, reviewer_role_id);
}

/** Returns the people of the counterparty: its contacts, and other recipients of the contract's review. */
async function listCounterpartyContacts(view: View, contract: Contract): Promise<readonly NamedPerson[]> {
  const contacts = contract.counterparties.flatMap(({ poc }) =>
    poc ? { name: formatFullName(poc), email: poc.email } : [],
  );
  const contractEmails = await view.list(emails, { by: "contract", equals: contract.id });
  const addressees = contractEmails
    .filter(({ purpose, mode }) => purpose === "redlining" && mode === "to")
    .map(({ recipient }) => ({ name: recipient, email: recipient }));
  return dropDuplicatePeople([...contacts, ...addressees]);
}

/** Returns the active member of the workspace with that number, or all members with the role. */
async function findMembers(
  view: View,
  { workspace_id }: Contract,
  userId: number | null,
  roleId: number | null,
): Promise<readonly User[]> {
  const isActiveMember = (user: User | undefined): user is User =>
    user?.is_active === true && user.workspace_id === workspace_id;
  if (userId !== null) return [await view.get(users, userId)].filter(isActiveMember);
  if (roleId === null) return [];
  const members = await view.list(users, { by: "workspace", equals: workspace_id });
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
export async function listParticipants(view: View, contract: Contract) {
  const { signatories, reviews, approvals } = contract;
  const groups = [
    signatories,
    await listCounterpartyContacts(view, contract),
    ...(await Promise.all(reviews.map((review) => listReviewers(view, contract, review)))),
    ...(await Promise.all(
      approvals.map((each) => findMembers(view, contract, each.approver_user_id, each.approver_role_id)),
    )),
  ];
  const pendingActions = await listPendingActions(view, contract);
  const links = await readRecipientLinks(view, contract);
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
