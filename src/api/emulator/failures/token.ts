import { assumed } from "../../basis.ts";
import type { ControlRole } from "../../control-roles.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is the emulator's own (DECISIONS.md, E16).");

export const tokenFailures = {
  "role-needed": control({
    status: 403,
    when: "the role of the token is not enough for the operation",
    basis: ours,
    code: "role_needed",
    says: ({ token, role, needs }: { token: string; role: ControlRole; needs: ControlRole }) =>
      `This needs the role ${needs}; the token ${token} has the role ${role}.`,
    hint: "Ask the operator of the emulator for another one: svc emulator tokens create NAME --role ROLE.",
  }),
  "whole-sandbox": control({
    status: 403,
    when: "the token is bound to a workspace, and the operation is about all of them",
    basis: ours,
    code: "whole_sandbox",
    says: ({ token, workspace }: { token: string; workspace: string }) =>
      `This is about the whole sandbox; the token ${token} is bound to the workspace ${workspace}.`,
    hint: "Ask the operator of the emulator, or use a token without a workspace.",
  }),
  "no-workspace-named": control({
    status: 404,
    when: "no workspace has that name or id",
    basis: ours,
    code: "no_workspace_named",
    says: ({ name, known }: { name: string; known: readonly string[] }) =>
      `No workspace is called ${name}; there are: ${known.join(", ")}.`,
    hint: "List them with `svc emulator workspaces`.",
  }),
  "token-name-taken": control({
    status: 409,
    when: "a token of that name is there, or the name means the token of the run file",
    basis: ours,
    code: "token_name_taken",
    says: ({ name }: { name: string }) => `There is a token ${name} already.`,
    hint: "Take another name, or revoke that one first: svc emulator tokens revoke.",
  }),
  "no-such-token": control({
    status: 404,
    when: "no token has that name",
    basis: ours,
    code: "no_such_token",
    says: ({ name }: { name: string }) => `There is no token ${name}.`,
    hint: "See svc emulator tokens list.",
  }),
};
