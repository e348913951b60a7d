import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is the emulator's own.");

export const controlContractFailures = {
  "no-such-contract": control({
    status: 404,
    when: "no cluster has that contract, or it is deleted",
    basis: ours,
    code: "no_such_contract",
    says: ({ id }: { id: string }) => `No contract is called ${id}.`,
    hint: "Name it by its number (12) or its composite id (T-12); `svc emulator contracts` lists them.",
  }),
  "no-such-member": control({
    status: 404,
    when: "the workspace of the contract has no active member with that address",
    basis: ours,
    code: "no_such_member",
    says: ({ email }: { email: string }) => `No active member of the contract's workspace has the address ${email}.`,
  }),
  "no-such-entity": control({
    status: 400,
    when: "the workspace of the contract has no entity of that reference id",
    basis: ours,
    code: "no_such_entity",
    says: ({ reference_id, known }: { reference_id: string; known: string }) =>
      `The workspace has no entity ${reference_id}; it has: ${known}.`,
  }),
  "entity-fixed": control({
    status: 400,
    when: "the contract is neither in DRAFT nor in REDLINING",
    basis: ours,
    code: "entity_fixed",
    says: ({ status }: { status: string }) => `A contract in status ${status} keeps its entity.`,
    hint: "Unmark it for execution first, or resume it.",
  }),
  "no-contract-yet": control({
    status: 404,
    when: "no contract is named, there is none, and no template to make one from",
    basis: ours,
    code: "no_contract_yet",
    says: "There is no contract that the activity could be about.",
    hint: "Start with a seed that has a template, such as demo.",
  }),
  "field-is-there": control({
    status: 400,
    when: "an addition names a field that the payload has",
    basis: ours,
    code: "field_is_there",
    says: ({ path }: { path: string }) => `The payload has ${path} already: it can be changed, not added.`,
    hint: "Change it with --set.",
  }),
  "no-such-field": control({
    status: 400,
    when: "an override or a removal names a field, or an addition a place, that the payload does not have",
    basis: ours,
    code: "no_such_field",
    says: ({ path, known }: { path: string; known: string }) => `The payload has no ${path}. There it has: ${known}.`,
  }),
};
