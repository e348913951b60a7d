import { fail } from "../../../../src/api/failures.ts";
import type { JobHandler, JobHandlers } from "../../../clock/job-handler.ts";
import { dequeue, schedule } from "../../../clock/schedule.ts";
import { emails } from "../../../domain/emails.ts";
import type { Transaction } from "../../../store/port.ts";
import { emitEmailEvent, hasDeliveryOutcome } from "../../emails.ts";
import { type Contract, contracts } from "../rows.ts";
import { recordSignature } from "./signatures.ts";
import type { LifecycleContext } from "./transition.ts";

type ContractJob = (tx: Transaction, contract: Contract, rest: readonly string[]) => Promise<string>;

/** Refs: `<contract id> <e-mail id>`, and for `auto-sign` `<contract id> <signatory id>` (DECISIONS.md, C11). */
export function createContractJobHandlers(context: LifecycleContext): JobHandlers {
  const { clock } = context;

  const createHandler = (action: string, job: ContractJob): JobHandler => ({
    action,
    start: (_, entry) => async (tx) => {
      const waiting = await tx.get(schedule, entry.id);
      // The contract left its state while the entry was already running, which canceled the entry.
      if (waiting?.ref !== entry.ref) return "ended";
      dequeue(tx, entry);
      const [id = "", ...rest] = entry.ref.split(" ");
      const contract = await tx.get(contracts, Number(id));
      return contract ? job(tx, contract, rest) : "ended";
    },
  });

  return {
    "email-delivery": createHandler("the provider of e-mails reports a delivery", async (tx, _, [emailId = ""]) => {
      const email = await tx.get(emails, Number(emailId));
      if (!email || hasDeliveryOutcome(email)) return "reported-before";
      await emitEmailEvent(tx, clock, email, { type: "Delivery", detail: null });
      return "told";
    }),
    "auto-sign": createHandler("auto-sign", async (tx, contract, [signatoryId]) => {
      const signatory = contract.signatories.find((each) => String(each.id) === signatoryId);
      if (!signatory || signatory.action) return "signed-before";
      await recordSignature(tx, context, contract, { email: signatory.email }, fail);
      return "signed";
    }),
  };
}
