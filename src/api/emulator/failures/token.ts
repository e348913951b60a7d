import { assumed } from "../../basis.ts";
import type { ControlRole } from "../../control-roles.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is part of the emulator (DECISIONS.md, E16).");

export const tokenFailures = {
  "role-needed": control({
    status: 403,
    when: "the role of the token does not allow the operation",
    basis: ours,
    code: "role_needed",
    says: ({ token, role, needs }: { token: string; role: ControlRole; needs: ControlRole }) =>
      `The role ${needs} is required. The token ${token} has the role ${role}.`,
    hint: "Request another token from the operator of the emulator: svc emulator tokens create NAME --role ROLE.",
  }),
  "whole-sandbox": control({
    status: 403,
    when: "the token is bound to a workspace, and the operation affects all workspaces",
    basis: ours,
    code: "whole_sandbox",
    says: ({ token, workspace }: { token: string; workspace: string }) =>
      `This operation affects all workspaces. The token ${token} is bound to the workspace ${workspace}.`,
    hint: "Use a token without a workspace. The operator of the emulator can create one.",
  }),
  "no-workspace-named": control({
    status: 404,
    when: "the workspace does not exist",
    basis: ours,
    code: "no_workspace_named",
    says: ({ name, known }: { name: string; known: readonly string[] }) =>
      `Workspace ${name} not found. Known: ${known.join(", ")}.`,
    hint: "List them with `svc emulator workspaces`.",
  }),
  "token-name-taken": control({
    status: 409,
    when: "a token with that name exists, or the name is reserved for the token of the run file",
    basis: ours,
    code: "token_name_taken",
    says: ({ name }: { name: string }) => `Token ${name} already exists.`,
    hint: "Choose another name, or revoke it first: svc emulator tokens revoke.",
  }),
  "no-such-token": control({
    status: 404,
    when: "the token does not exist",
    basis: ours,
    code: "no_such_token",
    says: ({ name }: { name: string }) => `Token ${name} not found.`,
    hint: "List the tokens with svc emulator tokens list.",
  }),
};
