import type { Failure } from "../../../src/api/failure.ts";
import { DeclaredFailureError, fail, failures } from "../../../src/api/failures.ts";
import { toAddressKey } from "../../../src/base/email-address.ts";
import { isEqualInConstantTime } from "../../../src/base/hmac.ts";
import { lookupTable } from "../../../src/base/object.ts";
import { type Html, html } from "../../http/page.ts";
import type { Transaction } from "../../store/port.ts";
import { addComment } from "../contracts/comments.ts";
import { recordApproval } from "../contracts/lifecycle/approvals.ts";
import { recordDecline, recordSignature } from "../contracts/lifecycle/execution.ts";
import { type LifecycleContext, transitionContract } from "../contracts/lifecycle/transition.ts";
import type { Contract } from "../contracts/rows.ts";
import type { OAuthParameters } from "../response.ts";
import { getOrCreatePersonId } from "../workspace/users.ts";
import {
  createContractView,
  createRecipientView,
  type NamedPerson,
  type PendingAction,
  renderTime,
} from "./page-model.ts";

export interface RecipientFormProblem {
  readonly status: number;
  readonly message: string;
}

export const maxFormTextLength = 5_000;

interface ActionContext {
  readonly tx: Transaction;
  readonly context: LifecycleContext;
  readonly contract: Contract;
  readonly person: NamedPerson;
  readonly pendingAction: PendingAction;
  readonly text: string | undefined;
}

interface FormAction {
  /** The pending action that it requires. Without `work`, it is available to any person with a pending action. */
  readonly work?: PendingAction["work"];
  readonly label?: string;
  /** Message for an empty text, if the text is required. */
  readonly missingText?: string;
  readonly button: string;
  readonly style?: "danger" | "other";
  /** Disclosure that hides the form of an action that cannot be undone. It confirms the action without a script. */
  readonly disclosure?: { readonly summary: string; readonly warning: string };
  /** Confirmation after the action, whose name is in the page's URL. */
  readonly confirmation: string;
  readonly act: (context: ActionContext) => void;
}

/** Actions of the forms' buttons, in the order of the forms. */
export const formActions = lookupTable<FormAction>({
  sign: {
    work: "sign",
    label: "Note (optional)",
    button: "Sign",
    confirmation: "You signed this contract.",
    act: ({ tx, context, contract, person, text }) =>
      recordSignature(tx, context, contract, { ...person, note: text }, fail),
  },
  decline: {
    work: "sign",
    label: "Reason (optional)",
    button: "Decline the contract",
    style: "danger",
    disclosure: {
      summary: "Decline",
      warning: "The contract goes back to its owner. It cannot be signed until it is sent again.",
    },
    confirmation: "You declined to sign this contract.",
    act: ({ tx, context, contract, person, text }) =>
      recordDecline(tx, context, contract, { ...person, note: text }, fail),
  },
  "complete-review": {
    work: "review",
    button: "Complete the review",
    confirmation: "You completed the review.",
    act: ({ tx, context, contract, person }) =>
      transitionContract(tx, context, contract, "complete-review", { performer: person }, fail),
  },
  approve: {
    work: "approve",
    label: "Note on the approval (optional)",
    button: "Approve",
    confirmation: "You approved this contract.",
    act: ({ tx, context, contract, person, pendingAction, text }) => {
      const approval = pendingAction.work === "approve" ? pendingAction.approval : undefined;
      return recordApproval(tx, context, contract, { approval, performer: person, note: text }, fail);
    },
  },
  comment: {
    label: "Comment",
    missingText: "The comment is empty.",
    button: "Add the comment",
    style: "other",
    confirmation: "Your comment was added.",
    act: ({ tx, context, contract, person, text }) => {
      const id = getOrCreatePersonId(tx, contract.workspace_id, person.email);
      addComment(tx, context, contract, text ?? "", { by: person, id });
    },
  },
});

/** Checks a form without reading the contract. Returns undefined if the form does not belong to the page. */
export function validateForm({ act = "", text }: OAuthParameters): RecipientFormProblem | undefined {
  const action = formActions[act];
  if (action === undefined) return { status: 400, message: "The form is not from this page." };
  if (action.missingText !== undefined && !text?.trim()) return { status: 400, message: action.missingText };
  if ((text?.length ?? 0) > maxFormTextLength) {
    return { status: 400, message: `The text must be at most ${maxFormTextLength} characters.` };
  }
  return undefined;
}

/** Requires that the contract is unchanged since the page was rendered. Throws if the transition is rejected. */
export function performFormAction(
  tx: Transaction,
  context: LifecycleContext,
  contract: Contract,
  person: NamedPerson,
  { act = "", text, form_token = "" }: OAuthParameters,
): RecipientFormProblem | undefined {
  const { actions, token } = createRecipientView(tx, person, createContractView(tx, { contract, person }));
  const { work, act: perform } = formActions[act]!;
  const pendingAction = actions.find((each) => work === undefined || each.work === work);
  if (!pendingAction) return { status: 409, message: "It is not your turn for this action." };
  if (!isEqualInConstantTime(form_token, token)) {
    return {
      status: 409,
      message:
        "The contract has changed since the page was loaded, or the form was already sent. Review the contract again.",
    };
  }
  perform({ tx, context, contract, person, pendingAction, text: text || undefined });
  return undefined;
}

/** Returns the message of a rejected transition, which the contract API also uses. */
export function toFormProblem(error: unknown): RecipientFormProblem {
  if (!(error instanceof DeclaredFailureError)) throw error;
  const { status, body } = failures[error.code] as Failure<unknown>;
  return { status, message: (body(error.data) as { readonly detail: string }).detail };
}

export function buildCompletedPath(target: string, act: string): string {
  const [path = "", query = ""] = target.split("?", 2);
  const parameters = new URLSearchParams(query);
  parameters.set("done", act);
  return `${path}?${parameters}`;
}

/** Returns the confirmation of a person's last action, or of their signature if nothing is open. */
export function describeCompletedAction(
  contract: Contract,
  { email }: NamedPerson,
  hasTurn: boolean,
  act: string | null,
): Html | undefined {
  const [last] = contract.signatories
    .filter((each) => toAddressKey(each.email) === toAddressKey(email))
    .flatMap(({ action }) => action ?? [])
    .toSorted((a, b) => b.at - a.at);
  if (hasTurn || !last) {
    const confirmation = act === null ? undefined : formActions[act]?.confirmation;
    return confirmation === undefined ? undefined : html`${confirmation}`;
  }
  if (last.is_success) return html`You signed this contract on ${renderTime(last.at)}.`;
  const reason = last.notes === null ? undefined : html` Your reason: <q class="as-typed">${last.notes}</q>`;
  return html`You declined to sign this contract on ${renderTime(last.at)}.${reason}`;
}
