import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is part of the emulator.");

/** Failures of operations about the workspaces of teams. */
export const controlWorkspaceFailures = {
  "workspace-there": control({
    status: 409,
    when: "a workspace has that name, ignoring case",
    basis: ours,
    code: "workspace_there",
    says: ({ name, id, cluster }: { name: string; id: number; cluster: string }) =>
      `Workspace ${name} already exists (${id} of ${cluster}).`,
    hint: "Choose another name. `svc emulator workspaces` lists all workspaces.",
  }),
  "no-such-workspace": control({
    status: 404,
    when: "the workspace does not exist, or was removed",
    basis: ours,
    code: "no_such_workspace",
    says: ({ id }: { id: number }) => `Workspace ${id} not found.`,
    hint: "List them with `svc emulator workspaces`.",
  }),
  "last-workspace": control({
    status: 409,
    when: "the workspace is the only one of its cluster",
    basis: ours,
    code: "last_workspace",
    says: ({ name, cluster }: { name: string; cluster: string }) =>
      `Cannot remove ${name}: it is the only workspace of ${cluster}.`,
    hint: "Create another one first with `svc emulator workspaces create`.",
  }),
};
