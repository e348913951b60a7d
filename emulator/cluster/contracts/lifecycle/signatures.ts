import { type RejectionCode, triggers } from "../../../../src/api/contracts/lifecycle.ts";
import type { Fail } from "../../../../src/api/failures.ts";
import { toAddressKey } from "../../../../src/schemes/email-hash.ts";
import { roles, users, type Workspace } from "../../../domain/workspaces.ts";
import { reply } from "../../../http/reply.ts";
import type { Transaction, View } from "../../../store/port.ts";
import type { ClusterHandlers } from "../../context.ts";
import { formatRowNotFound } from "../../workspace/users.ts";
import { emitContractEvent } from "../access.ts";
import { toPerformer } from "../records.ts";
import { type Contract, contracts, requireContract, requireContractNumber, type Signatory } from "../rows.ts";
import { listSigningMails } from "./email-events.ts";
import { findNextSignatories, findPrecedingSignatory, inviteNextSignatories } from "./lifecycle.ts";
import { sendContractEmails } from "./timers.ts";
import { type LifecycleContext, transition } from "./transition.ts";

/** The signatory and their note. Without an address, the next signatory. */
export interface SignatureAction {
  readonly email?: string | undefined;
  readonly note?: string | undefined;
}

type SignatureRejectionCode = "not-a-signatory" | "already-signed" | "not-their-turn" | "forbidden-move";

/** A signatory signs. The last signature executes the contract. */
export async function sign(
  tx: Transaction,
  context: LifecycleContext,
  contract: Contract,
  act: SignatureAction,
  fail: Fail<SignatureRejectionCode | RejectionCode<"sign" | "all-signed">>,
): Promise<Contract> {
  const at = context.clock.now();
  const signatory = findActor(contract, "sign", act.email, fail);
  const action = { is_success: true, notes: act.note ?? null, at };
  const patch = (row: Contract) => ({
    ...row,
    signatories: inviteNextSignatories(replaceSignatory(row.signatories, { ...signatory, action }), at),
  });
  const signed = await transition(tx, context, contract, "sign", { by: toPerson(signatory), patch }, fail);
  const hasEveryoneSigned = signed.signatories.every((each) => each.action?.is_success === true);
  return hasEveryoneSigned ? transition(tx, context, signed, "all-signed", { by: toPerson(signatory) }, fail) : signed;
}

/** A signatory declines, so the contract leaves SIGN (DECISIONS.md, C22). */
export async function decline(
  tx: Transaction,
  context: LifecycleContext,
  contract: Contract,
  act: SignatureAction,
  fail: Fail<SignatureRejectionCode | RejectionCode<"decline">>,
): Promise<Contract> {
  const signatory = findActor(contract, "decline", act.email, fail);
  const action = { is_success: false, notes: act.note ?? null, at: context.clock.now() };
  const signatories = replaceSignatory(contract.signatories, { ...signatory, action });
  return transition(tx, context, { ...contract, signatories }, "decline", { by: toPerson(signatory) }, fail);
}

/** Only in SIGN do participants have turns. In other statuses, the status is the reason for the rejection. */
function findActor(
  contract: Contract,
  trigger: "sign" | "decline",
  email: string | undefined,
  fail: Fail<SignatureRejectionCode>,
): Signatory {
  const rejectMove = () => fail("forbidden-move", { status: contract.status, words: triggers[trigger] });
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
  const before = findPrecedingSignatory(contract.signatories, signatory);
  return before ? fail("not-their-turn", { email, first: before.email }) : signatory;
}

const replaceSignatory = (signatories: readonly Signatory[], changed: Signatory): Signatory[] =>
  signatories.map((each) => (each.id === changed.id ? changed : each));

const toPerson = ({ name, email }: Signatory) => ({ name, email });

/** Transitions of the public API, except sending (DECISIONS.md, F12). */
export const executionHandlers = {
  "execution.mark": ({ params }, { store, clock, settings, caller, fail }) =>
    store.transaction("execution.mark", async (tx) => {
      const row = await requireContract(tx, caller, params.composite_id, fail);
      await transition(tx, { clock, settings }, row, "mark-for-execution", { by: toPerformer(caller) }, fail);
      return reply(200, undefined);
    }),

  "execution.unmark": ({ params }, { store, clock, settings, caller, fail }) =>
    store.transaction("execution.unmark", async (tx) => {
      const row = await requireContract(tx, caller, params.composite_id, fail);
      await transition(tx, { clock, settings }, row, "unmark-for-execution", { by: toPerformer(caller) }, fail);
      return reply(200, undefined);
    }),

  "execution.void": ({ params }, { store, clock, settings, caller, fail }) =>
    store.transaction("execution.void", async (tx) => {
      const row = await requireContract(tx, caller, params.composite_id, fail);
      await transition(tx, { clock, settings }, row, "void", { by: toPerformer(caller) }, fail);
      return reply(204, undefined);
    }),

  "execution.request-review": ({ params, body }, { store, clock, settings, caller, fail }) =>
    store.transaction("execution.request-review", async (tx) => {
      const row = await requireContractNumber(tx, caller, params.contract_id, fail);
      const problems = await findAssigneeProblems(tx, caller.workspace, body);
      if (problems) return fail("invalid-fields", problems);
      const review = {
        id: row.reviews.length + 1,
        by: "internal" as const,
        reviewer_user_id: body.assignee_user_id ?? null,
        reviewer_role_id: body.assignee_role_id ?? null,
        description: body.description,
        requested_at: clock.now(),
        completed_at: null,
      };
      await transition(
        tx,
        { clock, settings },
        row,
        "request-review",
        { by: toPerformer(caller), patch: (moved) => ({ ...moved, reviews: [...moved.reviews, review] }) },
        fail,
      );
      return reply(200, undefined);
    }),

  "execution.resend-email": ({ params, body }, { store, clock, caller, fail }) =>
    store.transaction("execution.resend-email", async (tx) => {
      const row = await requireContract(tx, caller, params.composite_id, fail);
      if (row.status !== "SIGN") {
        return fail("forbidden-move", { status: row.status, words: "sent for signature again" });
      }
      const address = toAddressKey(body.email_id);
      const signatories = row.signatories.filter(({ email }) => toAddressKey(email) === address);
      const signatory = signatories.find((each) => each.action === null);
      if (!signatory) return fail(signatories.length ? "already-signed" : "not-a-signatory", { email: body.email_id });

      const at = clock.now();
      const sent = row.signatories.map((each) => (each === signatory ? { ...each, sent_at: at } : each));
      tx.put(contracts, { ...row, signatories: sent, updated_at: at });
      await sendContractEmails(tx, row, listSigningMails([signatory]), at);
      const activity = "CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT";
      const data = { signatory: { name: signatory.name, email: signatory.email } };
      await emitContractEvent(tx, { clock, by: toPerformer(caller), at }, activity, row, data);
      return reply(200, undefined);
    }),
} satisfies ClusterHandlers;

interface Assignee {
  readonly assignee_user_id?: number | undefined;
  readonly assignee_role_id?: number | undefined;
}

/** Exactly one of the two, and it must belong to the workspace. */
async function findAssigneeProblems(
  view: View,
  workspace: Workspace,
  { assignee_user_id, assignee_role_id }: Assignee,
) {
  if (assignee_user_id === undefined && assignee_role_id === undefined) return { assignee_user_id: ["Field required"] };
  if (assignee_user_id !== undefined && assignee_role_id !== undefined) {
    return { assignee_role_id: ["Only one of assignee_user_id and assignee_role_id may be given"] };
  }
  if (assignee_user_id !== undefined) {
    const user = await view.get(users, assignee_user_id);
    const fits = user?.workspace_id === workspace.id && user.is_active;
    return fits ? undefined : { assignee_user_id: [formatRowNotFound(assignee_user_id)] };
  }
  const role = assignee_role_id === undefined ? undefined : await view.get(roles, assignee_role_id);
  return role?.workspace_id === workspace.id ? undefined : { assignee_role_id: [formatRowNotFound(assignee_role_id)] };
}
