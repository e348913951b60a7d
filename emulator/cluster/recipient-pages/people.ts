import { addressKey } from "../../../src/schemes/email-hash.ts";
import type { View } from "../../store/port.ts";
import { personPath } from "../contracts/links.ts";
import type { Contract } from "../contracts/rows.ts";
import { counterpartyOf, membersNamed, onceEach, reviewersOf, type Turn, turnsOf, turnsWith } from "./turns.ts";

/** Somebody who has a part in a contract. */
export interface Participant {
  readonly name: string;
  readonly email: string;
  /** Of their page, at the contract's cluster. */
  readonly path: string;
  /** What it is their turn to do. */
  readonly turn: readonly Turn["work"][];
  /** When they signed, in the round of signatures that is the present one. */
  readonly signedAt: number | null;
}

function signedAt({ signatories }: Contract, email: string): number | null {
  const own = signatories.find((each) => addressKey(each.email) === addressKey(email));
  return own?.action?.is_success ? own.action.at : null;
}

/** All who sign, review or approve a contract, or speak for the other side, once each, with their links. */
export async function participantsOf(view: View, contract: Contract): Promise<readonly Participant[]> {
  const { signatories, reviews, approvals } = contract;
  const found = [
    signatories,
    await counterpartyOf(view, contract),
    ...(await Promise.all(reviews.map((review) => reviewersOf(view, contract, review)))),
    ...(await Promise.all(
      approvals.map((each) => membersNamed(view, contract, each.approver_user_id, each.approver_role_id)),
    )),
  ];
  const turns = await turnsOf(view, contract);
  return Promise.all(
    onceEach(found.flat()).map(async ({ name, email }) => ({
      name,
      email,
      path: await personPath(view, contract, email),
      turn: [...new Set(turnsWith(turns, email).map(({ work }) => work))],
      signedAt: signedAt(contract, email),
    })),
  );
}
