import type { Trigger } from "../../src/api/contracts/lifecycle.ts";
import type { Fail, FailureCode } from "../../src/api/failures.ts";
import { approve } from "../cluster/contracts/lifecycle/approve.ts";
import { decline, sign } from "../cluster/contracts/lifecycle/signatures.ts";
import { type LifecycleWorld, type TransitionOptions, transition } from "../cluster/contracts/lifecycle/transition.ts";
import { type Contract, compositeId } from "../cluster/contracts/rows.ts";
import type { Call, Handlers, World } from "../http/handler.ts";
import type { Transaction } from "../store/port.ts";
import { namedContract, personNamed } from "./named-contract.ts";

type Home = World & LifecycleWorld;
type ContractVerb = "sign" | "decline" | "complete-review" | "approve" | "void" | "hold" | "resume" | "delete";

interface Act {
  readonly params: { readonly id: string };
  readonly body: { readonly email?: string | undefined; readonly note?: string | undefined };
}

/** What people do in the application: each moves the contract by the lifecycle table (DECISIONS.md, E7). */
export const controlContractHandlers: Handlers<`emulator-contracts.${ContractVerb}`, Home, unknown> = {
  "emulator-contracts.sign": (input, call) =>
    acted("sign", input, call, (tx, contract) => sign(tx, call, contract, input.body, call.fail)),

  "emulator-contracts.decline": (input, call) =>
    acted("decline", input, call, (tx, contract) => decline(tx, call, contract, input.body, call.fail)),

  "emulator-contracts.approve": (input, call) =>
    acted("approve", input, call, async (tx, contract) => {
      const { userId, ...by } = await personNamed(tx, contract, input.body.email);
      return approve(tx, call, contract, { approver: userId, by, note: input.body.note }, call.fail);
    }),

  "emulator-contracts.complete-review": (input, call) =>
    pulled("complete-review", input, call, (tx, row, pull) =>
      transition(tx, call, row, "complete-review", pull, call.fail),
    ),
  "emulator-contracts.void": (input, call) =>
    pulled("void", input, call, (tx, row, pull) => transition(tx, call, row, "void", pull, call.fail)),
  "emulator-contracts.hold": (input, call) =>
    pulled("hold", input, call, (tx, row, pull) => transition(tx, call, row, "hold", pull, call.fail)),
  "emulator-contracts.resume": (input, call) =>
    pulled("resume", input, call, (tx, row, pull) => transition(tx, call, row, "resume", pull, call.fail)),
  "emulator-contracts.delete": (input, call) =>
    pulled("delete", input, call, (tx, row, pull) => transition(tx, call, row, "delete", pull, call.fail)),
};

type ControlCall = Home & Pick<Call<FailureCode, unknown>, "request"> & { readonly fail: Fail<"no-such-contract"> };

function acted(
  verb: ContractVerb,
  { params }: Act,
  { store, fail }: ControlCall,
  act: (tx: Transaction, contract: Contract) => Promise<Contract>,
) {
  return store.transaction(`emulator-contracts.${verb}`, async (tx) => {
    const after = await act(tx, await namedContract(tx, params.id, fail));
    return {
      contract_id: after.id,
      composite_id: compositeId(after),
      contract_status: after.status,
      contract_name: after.name,
    };
  });
}

const pulled = (
  verb: ContractVerb & Trigger,
  input: Act,
  call: ControlCall,
  pull: (tx: Transaction, contract: Contract, pull: TransitionOptions) => Promise<Contract>,
) =>
  acted(verb, input, call, async (tx, contract) => {
    const { userId: _, ...by } = await personNamed(tx, contract, input.body.email);
    return pull(tx, contract, { by });
  });
