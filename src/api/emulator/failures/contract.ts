import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is part of the emulator.");

export const controlContractFailures = {
  "no-such-contract": control({
    status: 404,
    when: "the contract does not exist, or is deleted",
    basis: ours,
    code: "no_such_contract",
    says: ({ id }: { id: string }) => `Contract ${id} not found.`,
    hint: "Use its number (12) or its composite ID (T-12). `svc emulator contracts` lists all contracts.",
  }),
  "no-such-member": control({
    status: 404,
    when: "the workspace of the contract has no active member with that address",
    basis: ours,
    code: "no_such_member",
    says: ({ email }: { email: string }) => `The contract's workspace has no active member with the address ${email}.`,
  }),
  "no-such-entity": control({
    status: 400,
    when: "the workspace of the contract has no entity with that reference ID",
    basis: ours,
    code: "no_such_entity",
    says: ({ reference_id, known }: { reference_id: string; known: string }) =>
      `Entity ${reference_id} not found in the workspace. Known: ${known}.`,
  }),
  "entity-fixed": control({
    status: 400,
    when: "the contract is neither in DRAFT nor in REDLINING",
    basis: ours,
    code: "entity_fixed",
    says: ({ status }: { status: string }) =>
      `Cannot change the entity: status is ${status}, expected DRAFT or REDLINING.`,
    hint: "Run `svc contracts unmark` or `svc emulator resume` first.",
  }),
  "no-contract-yet": control({
    status: 404,
    when: "no contract is given, and no contract or template exists",
    basis: ours,
    code: "no_contract_yet",
    says: "No contract or template exists for the activity.",
    hint: "Start with a seed that has a template, such as demo.",
  }),
  "field-is-there": control({
    status: 400,
    when: "an addition names an existing field of the payload",
    basis: ours,
    code: "field_is_there",
    says: ({ path }: { path: string }) => `Cannot add ${path}: the payload already has it.`,
    hint: "Change it with --set.",
  }),
  "no-such-field": control({
    status: 400,
    when: "an override, a removal or an addition uses a path that the payload does not have",
    basis: ours,
    code: "no_such_field",
    says: ({ path, known }: { path: string; known: string }) => `The payload has no ${path}. Known: ${known}.`,
  }),
};
