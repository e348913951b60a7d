import type * as z from "zod";
import type { RecipientRecord } from "../../../src/api/contracts/contracts.ts";
import type { RejectionCode } from "../../../src/api/contracts/lifecycle.ts";
import type { Fail } from "../../../src/api/failures.ts";
import { toIsoSeconds } from "../../../src/base/clock.ts";
import { toAddressKey } from "../../../src/base/email-address.ts";
import { inTransaction } from "../../http/handler.ts";
import type { View } from "../../store/port.ts";
import type { ClusterHandlers } from "../context.ts";
import { emitCounterpartyChanges } from "../counterparties/rows.ts";
import { findPersonId } from "../workspace/users.ts";
import { findMemberByEmail } from "../workspace/workspace-rows.ts";
import { requireVisibleContract } from "./access.ts";
import { draftFromTemplate } from "./creation/template-contract.ts";
import { createByTransition, transitionContract } from "./lifecycle/transition.ts";
import { readRecipientLinks } from "./links.ts";
import { findPartyOfContact, toCreatedContract, toPerformer } from "./records.ts";
import { type Contract, type ContractSignatory, requireContract, requireContractByNumber } from "./rows.ts";

export const contractHandlers = {
  "contracts.create": inTransaction((tx, { body }, context) => {
    const performer = toPerformer(context.caller);
    const { draft, changes } = draftFromTemplate(tx, context.caller, body, context.clock.now(), context);
    emitCounterpartyChanges(tx, context, changes);
    const contract = createByTransition(tx, context, draft, "create-from-template", { performer });
    const options = { performer, addressees: getAddressees(body.send_to_counterparty_config) };
    // A missing signatory is the only reason why a new draft cannot be sent.
    const reject = context.fail as Fail<"no-signatories"> as Fail<RejectionCode<"send">>;
    const row = body.workflow_config?.auto_send_to_counterparty
      ? transitionContract(tx, context, contract, "send", options, reject)
      : contract;
    return toCreatedContract(tx, context, row);
  }),

  "contracts.send": inTransaction((tx, { params, body }, context) => {
    const row = requireContract(tx, context.caller, params.composite_id, context.fail);
    const options = { performer: toPerformer(context.caller), addressees: getAddressees(body) };
    transitionContract(tx, context, row, "send", options, context.fail);
    return {};
  }),

  "contracts.status": (input, { store, caller, fail }) => {
    const row = requireVisibleContract(store, caller, input, fail);
    return { contract_status: row.status, contract_name: row.name };
  },

  "contracts.recipients": ({ params }, { store, caller, fail }) => {
    const row = requireContract(store, caller, params.composite_id, fail);
    // The response contains the rows of the recipients (DECISIONS.md, F13).
    return { items: row.signatories.map((each, i) => toRecipient(store, row, each, i + 1)) };
  },

  "contracts.recipient-link": ({ params, query }, { store, cluster, caller, fail }) => {
    const row = requireContractByNumber(store, caller, params.contract_id, fail);
    const email = toAddressKey(query.recipient_email);
    const signatory = row.signatories.find((each) => toAddressKey(each.email) === email);
    if (!signatory) return fail("not-a-signatory", { email: query.recipient_email });
    return { link: `${cluster.url}${readRecipientLinks(store, row).buildPath(email)}` };
  },

  "contracts.embedded-link": ({ params, query }, { store, cluster, caller, fail }) => {
    const row = requireContractByNumber(store, caller, params.contract_id, fail);
    const email = query.cp_email_id;
    if (!findPartyOfContact(row, email)) return fail("not-a-contact", { email });
    return { url: `${cluster.url}${readRecipientLinks(store, row).buildPath(email)}` };
  },
} satisfies ClusterHandlers;

interface SendOptions {
  readonly to_emails?: readonly string[] | undefined;
  readonly cc_emails?: readonly string[] | undefined;
}

const getAddressees = (options: SendOptions | null | undefined) => ({ to: options?.to_emails, cc: options?.cc_emails });

function toRecipient(
  view: View,
  { workspace_id }: Contract,
  signatory: ContractSignatory,
  position: number,
): z.input<typeof RecipientRecord> {
  const member = findMemberByEmail(view, workspace_id, signatory.email);
  const { action, sent_at } = signatory;
  return {
    recipient: {
      id: signatory.id,
      recipient_type: "SIGNATORY",
      user: {
        id: findPersonId(view, workspace_id, signatory.email)!,
        email: signatory.email,
        name: signatory.name,
        designation: member?.designation ?? null,
      },
      recipient_order: signatory.sign_order ?? position,
      note: signatory.note,
      created: toIsoSeconds(signatory.created_at),
      title: signatory.title,
      is_sent_for_signature: sent_at !== null,
      last_sent_for_signature_at: sent_at === null ? null : toIsoSeconds(sent_at),
    },
    recipient_action: action && {
      is_success: action.is_success,
      action_notes: action.notes,
      timestamp: toIsoSeconds(action.at),
    },
    status: action ? "COMPLETED" : sent_at === null ? "PENDING" : "IN_PROGRESS",
  };
}
