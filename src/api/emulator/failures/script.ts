import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is part of the emulator.");

/** What scripting trouble and looking into inboxes may refuse with. */
export const controlScriptFailures = {
  "no-such-fault": control({
    status: 404,
    when: "the fault does not exist, or was removed",
    basis: ours,
    code: "no_such_fault",
    says: ({ id }: { id: number }) => `Fault ${id} not found.`,
    hint: "List them with `svc emulator fault list`.",
  }),
  "external-cluster": control({
    status: 409,
    when: "the cluster is not run by the emulator",
    basis: ours,
    code: "external_cluster",
    says: ({ cluster, url }: { cluster: string; url: string }) =>
      `Cluster ${cluster} is external (${url}). The emulator does not store its data or requests.`,
  }),
};
