import { addressKey } from "../../../../src/schemes/email-hash.ts";
import { reply } from "../../../http/reply.ts";
import type { View } from "../../../store/port.ts";
import { roles, users, type Workspace } from "../../../world/workspaces.ts";
import type { ClusterHandlers } from "../../context.ts";
import { rowNotFoundMessage } from "../../workspace/users.ts";
import { emitContractEvent } from "../activities.ts";
import { performer } from "../records.ts";

import { contracts, requireContract, requireContractNumber } from "../rows.ts";
import { signingMails } from "./email-events.ts";
import { sendContractEmails } from "./timers.ts";
import { transition } from "./transition.ts";

/** What moves a contract through the public API, beside sending it (DECISIONS.md, F12). */
export const executionHandlers = {
  "execution.mark": ({ params }, { store, clock, settings, caller, fail }) =>
    store.transaction("execution.mark", async (tx) => {
      const row = await requireContract(tx, caller, params.composite_id, fail);
      await transition(tx, { clock, settings }, row, "mark-for-execution", { by: performer(caller) }, fail);
      return reply(200, undefined);
    }),

  "execution.unmark": ({ params }, { store, clock, settings, caller, fail }) =>
    store.transaction("execution.unmark", async (tx) => {
      const row = await requireContract(tx, caller, params.composite_id, fail);
      await transition(tx, { clock, settings }, row, "unmark-for-execution", { by: performer(caller) }, fail);
      return reply(200, undefined);
    }),

  "execution.void": ({ params }, { store, clock, settings, caller, fail }) =>
    store.transaction("execution.void", async (tx) => {
      const row = await requireContract(tx, caller, params.composite_id, fail);
      await transition(tx, { clock, settings }, row, "void", { by: performer(caller) }, fail);
      return reply(204, undefined);
    }),

  "execution.request-review": ({ params, body }, { store, clock, settings, caller, fail }) =>
    store.transaction("execution.request-review", async (tx) => {
      const row = await requireContractNumber(tx, caller, params.contract_id, fail);
      const problems = await assigneeProblems(tx, caller.workspace, body);
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
        { by: performer(caller), patch: (moved) => ({ ...moved, reviews: [...moved.reviews, review] }) },
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
      const address = addressKey(body.email_id);
      const theirs = row.signatories.filter(({ email }) => addressKey(email) === address);
      const signatory = theirs.find((each) => each.action === null);
      if (!signatory) return fail(theirs.length ? "already-signed" : "not-a-signatory", { email: body.email_id });

      const at = clock.now();
      const sent = row.signatories.map((each) => (each === signatory ? { ...each, sent_at: at } : each));
      tx.put(contracts, { ...row, signatories: sent, updated_at: at });
      await sendContractEmails(tx, row, signingMails([signatory]), at);
      const activity = "CONTRACT_SIGNATURE_REQUESTED_NOTIFICATION_SENT";
      const data = { signatory: { name: signatory.name, email: signatory.email } };
      await emitContractEvent(tx, { clock, by: performer(caller), at }, activity, row, data);
      return reply(200, undefined);
    }),
} satisfies ClusterHandlers;

interface Assignee {
  readonly assignee_user_id?: number | undefined;
  readonly assignee_role_id?: number | undefined;
}

/** Exactly one of the two, and one of the workspace. */
async function assigneeProblems(view: View, workspace: Workspace, { assignee_user_id, assignee_role_id }: Assignee) {
  if (assignee_user_id === undefined && assignee_role_id === undefined) return { assignee_user_id: ["Field required"] };
  if (assignee_user_id !== undefined && assignee_role_id !== undefined) {
    return { assignee_role_id: ["Only one of assignee_user_id and assignee_role_id may be given"] };
  }
  if (assignee_user_id !== undefined) {
    const user = await view.get(users, assignee_user_id);
    const fits = user?.workspace_id === workspace.id && user.is_active;
    return fits ? undefined : { assignee_user_id: [rowNotFoundMessage(assignee_user_id)] };
  }
  const role = assignee_role_id === undefined ? undefined : await view.get(roles, assignee_role_id);
  return role?.workspace_id === workspace.id ? undefined : { assignee_role_id: [rowNotFoundMessage(assignee_role_id)] };
}
