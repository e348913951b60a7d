import { type RejectionCode, triggers } from "../../../../src/api/contracts/lifecycle.ts";
import { type Fail, fail } from "../../../../src/api/failures.ts";
import { toAddressKey } from "../../../../src/base/email-address.ts";
import type { JobHandler, JobHandlers } from "../../../clock/job-handler.ts";
import { dequeue, schedule } from "../../../clock/schedule.ts";
import { emails } from "../../../domain/emails.ts";
import { inTransaction } from "../../../http/handler.ts";
import type { Transaction } from "../../../store/port.ts";
import type { Performer } from "../../../webhooks/emit.ts";
import type { ClusterCall, ClusterHandlers } from "../../context.ts";
import { emitEmailEvent, hasDeliveryOutcome } from "../../emails.ts";
import { findAssigneeProblem } from "../../workspace/workspace-rows.ts";
import { emitContractEvent, toPerformer } from "../records.ts";
import {
  type Contract,
  type ContractReview,
  type ContractSignatory,
  contracts,
  requireContract,
  requireContractByNumber,
} from "../rows.ts";
import { addReview, findNextSignatories, findPrecedingSignatory, inviteNextSignatories } from "./lifecycle.ts";
import { listSigningMails, sendContractEmails } from "./timers.ts";
import { type LifecycleContext, transitionContract } from "./transition.ts";

/** The signatory and their note. Without an address, the next signatory acts. */
interface SignatureAction {
  readonly email?: string | undefined;
  readonly note?: string | undefined;
}

type SignatureRejectionCode = "not-a-signatory" | "already-signed" | "not-their-turn" | "forbidden-move";

/** Signs for a signatory. The last signature executes the contract. */
export function recordSignature(
  tx: Transaction,
  context: LifecycleContext,
  contract: Contract,
  act: SignatureAction,
  fail: Fail<SignatureRejectionCode | RejectionCode<"sign" | "all-signed">>,
): Contract {
  const at = context.clock.now();
  const signatory = findActor(contract, triggers.sign, act.email, fail);
  const action = { is_success: true, notes: act.note ?? null, at };
  const patch = (row: Contract) => ({
    ...row,
    signatories: inviteNextSignatories(replaceSignatory(row.signatories, { ...signatory, action }), at),
  });
  const performer = toPerson(signatory);
  const signed = transitionContract(tx, context, contract, "sign", { performer, patch }, fail);
  const hasEveryoneSigned = signed.signatories.every((each) => each.action?.is_success === true);
  return hasEveryoneSigned ? transitionContract(tx, context, signed, "all-signed", { performer }, fail) : signed;
}

/** Declines for a signatory. The contract leaves SIGN (DECISIONS.md, C22). */
export function recordDecline(
  tx: Transaction,
  context: LifecycleContext,
  contract: Contract,
  act: SignatureAction,
  fail: Fail<SignatureRejectionCode | RejectionCode<"decline">>,
): Contract {
  const signatory = findActor(contract, triggers.decline, act.email, fail);
  const action = { is_success: false, notes: act.note ?? null, at: context.clock.now() };
  const declined = { ...contract, signatories: replaceSignatory(contract.signatories, { ...signatory, action }) };
  return transitionContract(tx, context, declined, "decline", { performer: toPerson(signatory) }, fail);
}

/** The order of participants matters only in SIGN. In any other status, the status is the reason for the rejection. */
function findActor(
  contract: Contract,
  words: string,
  email: string | undefined,
  fail: Fail<SignatureRejectionCode>,
): ContractSignatory {
  const rejectMove = () => fail("forbidden-move", { status: contract.status, words });
  if (contract.status !== "SIGN") return rejectMove();
  if (email === undefined) {
    return findNextSignatories(contract.signatories)[0] ?? rejectMove();
  }
  const address = toAddressKey(email);
  const signatories = contract.signatories.filter((each) => toAddressKey(each.email) === address);
  const signatory = signatories.find((each) => each.action === null);
  if (!signatory) {
    const turn = [...new Set(findNextSignatories(contract.signatories).map((each) => each.email))];
    return fail(signatories.length ? "already-signed" : "not-a-signatory", { email, turn });
  }
  const preceding = findPrecedingSignatory(contract.signatories, signatory);
  return preceding ? fail("not-their-turn", { email, first: preceding.email }) : signatory;
}

const replaceSignatory = (
  signatories: readonly ContractSignatory[],
  replacement: ContractSignatory,
): ContractSignatory[] => signatories.map((each) => (each.id === replacement.id ? replacement : each));

const toPerson = ({ name, email }: ContractSignatory) => ({ name, email });

export function requestReview(
  tx: Transaction,
  context: LifecycleContext,
  contract: Contract,
  { by: performer, reviewer }: { readonly by: Performer; readonly reviewer: Reviewer },
  fail: Fail<RejectionCode<"request-review">>,
): Contract {
  const patch = (row: Contract) => addReview(row, { by: "internal", ...reviewer }, context.clock.now());
  return transitionContract(tx, context, contract, "request-review", { performer, patch }, fail);
}

const onlyOneAssignee = "Only one of assignee_user_id and assignee_role_id can be given";

type Reviewer = Pick<ContractReview, "reviewer_user_id" | "reviewer_role_id" | "description">;

type ExecutionTrigger = "mark-for-execution" | "unmark-for-execution" | "void";

const createExecutionHandler = <T extends ExecutionTrigger>(trigger: T) =>
  inTransaction(
    (
      tx,
      { params }: { readonly params: { readonly composite_id: string } },
      context: ClusterCall<"not-found" | RejectionCode<T>>,
    ) => {
      const { caller, fail } = context;
      const row = requireContract(tx, caller, params.composite_id, fail);
      transitionContract(tx, context, row, trigger, { performer: toPerformer(caller) }, fail);
    },
  );

/** Handlers for the transitions of the public API, except sending (DECISIONS.md, F12). */
export const executionHandlers = {
  "execution.mark": createExecutionHandler("mark-for-execution"),
  "execution.unmark": createExecutionHandler("unmark-for-execution"),
  "execution.void": createExecutionHandler("void"),

  "execution.request-review": inTransaction((tx, { params, body }, context) => {
    const { caller, fail } = context;
    const row = requireContractByNumber(tx, caller, params.contract_id, fail);
    const { assignee_user_id, assignee_role_id, description } = body;
    const assignee = { assignee_user_id, assignee_role_id };
    const problem = findAssigneeProblem(tx, caller.workspace, assignee, onlyOneAssignee);
    if (problem) return fail("invalid-fields", problem);
    const [reviewer_user_id, reviewer_role_id] = [assignee_user_id ?? null, assignee_role_id ?? null];
    const reviewer = { reviewer_user_id, reviewer_role_id, description };
    requestReview(tx, context, row, { by: toPerformer(caller), reviewer }, fail);
  }),

  "execution.resend-email": inTransaction((tx, { params, body }, { clock, caller, fail }) => {
    const row = requireContract(tx, caller, params.composite_id, fail);
    const signatory = findActor(row, "sent for signature again", body.email_id, fail);
    const at = clock.now();
    const updatedSignatories = row.signatories.map((each) => (each === signatory ? { ...each, sent_at: at } : each));
    tx.put(contracts, { ...row, signatories: updatedSignatories, updated_at: at });
    sendContractEmails(tx, row, listSigningMails([signatory]), at);
    const activity = "CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT";
    const data = { signatory: { name: signatory.name, email: signatory.email } };
    emitContractEvent(tx, { clock, performer: toPerformer(caller), at }, activity, row, data);
  }),
} satisfies ClusterHandlers;

type ContractJob = (tx: Transaction, contract: Contract, rest: readonly string[]) => string;

/** Refs: `<contract id> <e-mail id>`, and for `auto-sign` `<contract id> <signatory id>` (DECISIONS.md, C11). */
export function createContractJobHandlers(context: LifecycleContext): JobHandlers {
  const { clock } = context;

  const createHandler = (action: string, job: ContractJob): JobHandler => ({
    action,
    start: (_, entry) => (tx) => {
      const waiting = tx.get(schedule, entry.id);
      // The contract left its state while the entry was already running, which canceled the entry.
      if (waiting?.ref !== entry.ref) return "ended";
      dequeue(tx, entry);
      const [id = "", ...rest] = entry.ref.split(" ");
      const contract = tx.get(contracts, Number(id));
      return contract ? job(tx, contract, rest) : "ended";
    },
  });

  return {
    "email-delivery": createHandler("the provider of e-mails reports a delivery", (tx, _, [emailId = ""]) => {
      const email = tx.get(emails, Number(emailId));
      if (!email || hasDeliveryOutcome(email)) return "reported-before";
      emitEmailEvent(tx, clock, email, { type: "Delivery", detail: null });
      return "reported";
    }),
    "auto-sign": createHandler("auto-sign", (tx, contract, [signatoryId]) => {
      const signatory = contract.signatories.find((each) => String(each.id) === signatoryId);
      if (!signatory || signatory.action) return "signed-before";
      recordSignature(tx, context, contract, { email: signatory.email }, fail);
      return "signed";
    }),
  };
}
