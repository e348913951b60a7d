import type { Fail, FailureCode } from "../../src/api/failures.ts";
import { hashEmail, isEmailHash } from "../../src/schemes/email-hash.ts";
import { requestDueApprovals } from "../cluster/contracts/lifecycle/approvals.ts";
import { type LifecycleContext, transition } from "../cluster/contracts/lifecycle/transition.ts";
import { type Contract, formatCompositeId } from "../cluster/contracts/rows.ts";
import { findMemberByEmail } from "../cluster/workspace/users.ts";
import { type User, users } from "../domain/workspaces.ts";
import type { Call, HandlerContext } from "../http/handler.ts";
import { toUserCodeKey } from "../router/device/rows.ts";
import { buildSignatoryKey, signatories } from "../router/mapping/signatories.ts";
import { mappingTables } from "../router/mapping/tables.ts";
import { findOwnersByTable } from "../router/resolve/resolve.ts";
import type { Transaction, View } from "../store/port.ts";
import type { ControlHandlers } from "./context.ts";
import { requireContractById, resolvePerson } from "./contracts/contracts.ts";

export const ownerHandlers = {
  "owners.list": async ({ query: { identifier } }, context) => {
    const found = await findOwnersByTable(context, listCandidates(identifier));
    return found.map(({ table, key, cluster }) => ({ table, key, cluster_id: cluster.id }));
  },

  "owners.look-up": ({ body: { table, keys } }, { store }) =>
    store.read(async (view) => {
      const found: (string | null)[] = [];
      for (const key of keys) found.push((await view.lookup(mappingTables[table], key)) ?? null);
      return { cluster_ids: found };
    }),

  "owners.remove-signatories": ({ body: { signatory_hashes: hashes, cluster_id } }, { store }) =>
    store.transaction("owners.remove-signatories", async (tx) => {
      let removed = 0;
      for (const hash of new Set(hashes)) {
        const key = buildSignatoryKey(cluster_id, hash);
        if (!(await tx.get(signatories, key))) continue;
        tx.delete(signatories, key);
        removed += 1;
      }
      return { removed };
    }),
} satisfies ControlHandlers;

/** Possible kinds of an identifier of unknown kind, in the look-up order of the router (DECISIONS.md, R14). */
function listCandidates(given: string) {
  const identifier = isEmailHash(given) ? given.toLowerCase() : given;
  const keys = [
    ["cluster_clients", identifier],
    ["cluster_emails", identifier],
    ["cluster_emails", hashEmail(identifier)],
    ["user_codes", toUserCodeKey(identifier)],
    ["creator_tokens", identifier],
    ["counterparty_tokens", identifier],
    ["chat_a_teams", identifier],
    ["external_integrations", identifier],
    ["external_integrations", `CHAT_B:${identifier}`],
    ["signatories", identifier],
    ["signatories", hashEmail(identifier)],
  ] as const;
  return keys.map(([table, key]) => ({ table, key }));
}

type OwnerMoveContext = HandlerContext & LifecycleContext;

/** The API's actions with a workspace key, for the operator of the emulator (DECISIONS.md, E7). */
export const ownerMoveHandlers = {
  "emulator-contracts.send": ({ params, body }, call) =>
    moveContract("send", params.id, call, async (tx, contract) =>
      transition(tx, call, contract, "send", { by: await findPerson(tx, contract, body.email) }, call.fail),
    ),

  "emulator-contracts.mark": ({ params, body }, call) =>
    moveContract("mark", params.id, call, async (tx, contract) =>
      transition(
        tx,
        call,
        contract,
        "mark-for-execution",
        { by: await findPerson(tx, contract, body.email) },
        call.fail,
      ),
    ),

  "emulator-contracts.unmark": ({ params, body }, call) =>
    moveContract("unmark", params.id, call, async (tx, contract) =>
      transition(
        tx,
        call,
        contract,
        "unmark-for-execution",
        { by: await findPerson(tx, contract, body.email) },
        call.fail,
      ),
    ),

  "emulator-contracts.request-review": ({ params, body }, call) =>
    moveContract("request-review", params.id, call, async (tx, contract) => {
      const reviewer = await findRequested(tx, contract, body.email, call.fail);
      const review = {
        id: contract.reviews.length + 1,
        by: "internal" as const,
        reviewer_user_id: reviewer.id,
        reviewer_role_id: null,
        description: "",
        requested_at: call.clock.now(),
        completed_at: null,
      };
      const patch = (row: Contract) => ({ ...row, reviews: [...row.reviews, review] });
      const by = await findPerson(tx, contract, undefined);
      return transition(tx, call, contract, "request-review", { by, patch }, call.fail);
    }),

  "emulator-contracts.request-approval": ({ params, body }, call) =>
    moveContract("request-approval", params.id, call, async (tx, contract) => {
      const approver = await findRequested(tx, contract, body.email, call.fail);
      if (contract.approvals.some(({ status }) => status === "PENDING" || status === "NOT_STARTED")) {
        call.fail("approvals-in-progress");
      }
      const approval = {
        id: tx.next("approval"),
        name: approver.name,
        notes: "",
        approver_user_id: approver.id,
        approver_role_id: null,
        order: null,
        status: "NOT_STARTED" as const,
        created_by: contract.business_user_id,
        created_at: call.clock.now(),
        actions: [],
      };
      const patch = (row: Contract) => ({ ...row, approvals: requestDueApprovals([...row.approvals, approval]) });
      const by = await findPerson(tx, contract, undefined);
      return transition(tx, call, contract, "request-approval", { by, patch }, call.fail);
    }),
} satisfies ControlHandlers<OwnerMoveContext>;

type ControlCall = OwnerMoveContext &
  Pick<Call<FailureCode, unknown>, "request"> & { readonly fail: Fail<"no-such-contract"> };

function moveContract(
  verb: string,
  id: string,
  { store, fail }: ControlCall,
  move: (tx: Transaction, contract: Contract) => Promise<Contract>,
) {
  return store.transaction(`emulator-contracts.${verb}`, async (tx) => {
    const after = await move(tx, await requireContractById(tx, id, fail));
    return {
      contract_id: after.id,
      composite_id: formatCompositeId(after),
      contract_status: after.status,
      contract_name: after.name,
    };
  });
}

async function findPerson(view: View, contract: Contract, email: string | undefined) {
  const { userId: _, ...by } = await resolvePerson(view, contract, email);
  return by;
}

/** An active member of the contract's workspace; default: the owner. */
async function findRequested(
  view: View,
  contract: Contract,
  email: string | undefined,
  fail: Fail<"no-such-member">,
): Promise<User> {
  const member =
    email === undefined
      ? await view.get(users, contract.business_user_id)
      : await findMemberByEmail(view, contract.workspace_id, email);
  return member?.is_active ? member : fail("no-such-member", { email: email ?? "" });
}
