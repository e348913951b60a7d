import { type RefusalOf, triggers } from "../../../../src/api/contracts/lifecycle.ts";
import type { Fail } from "../../../../src/api/failures.ts";
import { addressKey } from "../../../../src/schemes/email-hash.ts";
import type { Transaction } from "../../../store/port.ts";
import type { Contract, Signatory } from "../rows.ts";
import { findNextSignatories, findPrecedingSignatory, inviteNextSignatories } from "./lifecycle.ts";
import { type LifecycleContext, transition } from "./transition.ts";

/** Who acts, and what they write beside it. Without an address it is the next whose turn it is. */
export interface SignatureAction {
  readonly email?: string | undefined;
  readonly note?: string | undefined;
}

type NotTheirs = "not-a-signatory" | "already-signed" | "not-their-turn" | "forbidden-move";

/** A signatory signs; the last signature executes the contract. */
export async function sign(
  tx: Transaction,
  world: LifecycleContext,
  contract: Contract,
  act: SignatureAction,
  fail: Fail<NotTheirs | RefusalOf<"sign" | "all-signed">>,
): Promise<Contract> {
  const at = world.clock.now();
  const signatory = whoActs(contract, "sign", act.email, fail);
  const action = { is_success: true, notes: act.note ?? null, at };
  const patch = (row: Contract) => ({
    ...row,
    signatories: inviteNextSignatories(replaced(row.signatories, { ...signatory, action }), at),
  });
  const signed = await transition(tx, world, contract, "sign", { by: person(signatory), patch }, fail);
  const everybody = signed.signatories.every((each) => each.action?.is_success === true);
  return everybody ? transition(tx, world, signed, "all-signed", { by: person(signatory) }, fail) : signed;
}

/** A signatory declines: the contract leaves signature (DECISIONS.md, C22). */
export async function decline(
  tx: Transaction,
  world: LifecycleContext,
  contract: Contract,
  act: SignatureAction,
  fail: Fail<NotTheirs | RefusalOf<"decline">>,
): Promise<Contract> {
  const signatory = whoActs(contract, "decline", act.email, fail);
  const action = { is_success: false, notes: act.note ?? null, at: world.clock.now() };
  const signatories = replaced(contract.signatories, { ...signatory, action });
  return transition(tx, world, { ...contract, signatories }, "decline", { by: person(signatory) }, fail);
}

/** Outside SIGN it is nobody's turn, and the status is what refuses. */
function whoActs(
  contract: Contract,
  trigger: "sign" | "decline",
  email: string | undefined,
  fail: Fail<NotTheirs>,
): Signatory {
  const forbidden = () => fail("forbidden-move", { status: contract.status, words: triggers[trigger] });
  if (contract.status !== "SIGN") return forbidden();
  if (email === undefined) {
    return findNextSignatories(contract.signatories)[0] ?? forbidden();
  }
  const address = addressKey(email);
  const theirs = contract.signatories.filter((each) => addressKey(each.email) === address);
  const signatory = theirs.find((each) => each.action === null);
  if (!signatory) {
    const turn = [...new Set(findNextSignatories(contract.signatories).map((each) => each.email))];
    return fail(theirs.length ? "already-signed" : "not-a-signatory", { email, turn });
  }
  const before = findPrecedingSignatory(contract.signatories, signatory);
  return before ? fail("not-their-turn", { email, first: before.email }) : signatory;
}

const replaced = (signatories: readonly Signatory[], changed: Signatory): Signatory[] =>
  signatories.map((each) => (each.id === changed.id ? changed : each));

const person = ({ name, email }: Signatory) => ({ name, email });
