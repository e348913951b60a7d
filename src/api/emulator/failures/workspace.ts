import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

/** Failures of operations about the workspaces of teams. */
export const controlWorkspaceFailures = {
  "workspace-there": control({
    status: 409,
    when: "a workspace has that name already, in letters of whatever case",
    basis: assumed("The control plane is the emulator's own."),
    code: "workspace_there",
    says: ({ name, id, cluster }: { name: string; id: number; cluster: string }) =>
      `There is a workspace ${name} already: ${id}, of ${cluster}.`,
    hint: "Choose another name. `svc emulator workspaces` lists them all.",
  }),
};
