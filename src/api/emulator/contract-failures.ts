import { assumed } from "../basis.ts";
import { control } from "../failure.ts";

const ours = assumed("The control plane is the emulator's own.");

export const controlContractFailures = {
  "no-such-contract": control({
    status: 404,
    when: "no cluster has that contract, or it is deleted",
    basis: ours,
    code: "no_such_contract",
    says: ({ id }: { id: string }) => `No contract is called ${id}.`,
    hint: "Name it by its number (12) or its composite id (T-12).",
  }),
};
