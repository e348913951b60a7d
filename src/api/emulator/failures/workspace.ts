import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is the emulator's own.");

/** Failures of operations about the workspaces of teams. */
export const controlWorkspaceFailures = {
  "workspace-there": control({
    status: 409,
    when: "a workspace has that name already, in letters of whatever case",
    basis: ours,
    code: "workspace_there",
    says: ({ name, id, cluster }: { name: string; id: number; cluster: string }) =>
      `There is a workspace ${name} already: ${id}, of ${cluster}.`,
    hint: "Choose another name. `svc emulator workspaces` lists them all.",
  }),
  "no-such-workspace": control({
    status: 404,
    when: "there is no such workspace, or it was removed",
    basis: ours,
    code: "no_such_workspace",
    says: ({ id }: { id: number }) => `No workspace has the id ${id}.`,
    hint: "List them with `svc emulator workspaces`.",
  }),
  "last-workspace": control({
    status: 409,
    when: "it is the only workspace of its cluster, for which its API key stands",
    basis: ours,
    code: "last_workspace",
    says: ({ name, cluster }: { name: string; cluster: string }) =>
      `${name} is the only workspace of ${cluster}, and its API key stands for that cluster.`,
    hint: "Make another one first, with `svc emulator workspaces create`.",
  }),
};
