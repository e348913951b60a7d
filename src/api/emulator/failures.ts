import { assumed } from "../basis.ts";
import { control } from "../failure.ts";

const ours = assumed("The control plane is the emulator's own.");

export const emulatorFailures = {
  "no-control-token": control({
    status: 401,
    when: "the control token is missing or wrong",
    basis: ours,
    code: "unauthorized",
    says: "The control plane needs `authorization: Bearer <token>`.",
    hint: "The token stands in the run file beside the state, and is printed by `svc emulator start`.",
  }),
  "invalid-control-input": control({
    status: 400,
    when: "the body, the query or the path is not as declared",
    basis: ours,
    code: "invalid_input",
    says: ({ problems }: { problems: readonly string[] }) => problems.join("; "),
  }),
  "control-store-failed": control({
    status: 503,
    when: "the state cannot be written to disk",
    basis: ours,
    code: "store_failed",
    says: "The emulator cannot write its state to disk.",
    hint: "See `svc emulator status`; reads go on, changes fail until it is restarted.",
  }),
};
