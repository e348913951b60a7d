import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is the emulator's own.");

/** What scripting trouble and looking into inboxes may refuse with. */
export const controlScriptFailures = {
  "no-such-fault": control({
    status: 404,
    when: "there is no such fault, or it was removed",
    basis: ours,
    code: "no_such_fault",
    says: ({ id }: { id: number }) => `No fault has the id ${id}.`,
    hint: "List them with `svc emulator fault list`.",
  }),
  "external-cluster": control({
    status: 409,
    when: "the cluster is not run by the emulator",
    basis: ours,
    code: "external_cluster",
    says: ({ cluster, url }: { cluster: string; url: string }) =>
      `The cluster ${cluster} is external, at ${url}: what it holds, and what reaches it, is not here.`,
  }),
};
