import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";
import { controlChatBFailures } from "./chat-b.ts";
import { clockFailures } from "./clock.ts";
import { consoleFailures } from "./console.ts";
import { controlContractFailures } from "./contract.ts";
import { controlInvitationFailures } from "./invitation.ts";
import { controlScriptFailures } from "./script.ts";
import { controlSignInFailures } from "./sign-in.ts";
import { snapshotFailures } from "./snapshot.ts";
import { tokenFailures } from "./token.ts";
import { controlTraceFailures } from "./trace.ts";
import { controlWebhookFailures } from "./webhook.ts";
import { controlWorkspaceFailures } from "./workspace.ts";

const ours = assumed("The control plane is part of the emulator.");

export const emulatorFailures = {
  ...controlContractFailures,
  ...controlSignInFailures,
  ...controlChatBFailures,
  ...clockFailures,
  ...controlWebhookFailures,
  ...controlInvitationFailures,
  ...controlScriptFailures,
  ...snapshotFailures,
  ...controlTraceFailures,
  ...consoleFailures,
  ...tokenFailures,
  ...controlWorkspaceFailures,
  "no-control-token": control({
    status: 401,
    when: "no control token was sent",
    basis: ours,
    code: "unauthorized",
    says: "The control plane requires `authorization: Bearer <token>`.",
    hint: "Use the token that `svc emulator start` prints and the run file next to the state contains.",
  }),
  "unknown-control-token": control({
    status: 401,
    when: "the control token is unknown or revoked, or its session has ended",
    basis: ours,
    code: "unknown_token",
    says: "The control token is invalid: it is unknown or revoked, or its session has ended.",
    hint: "Use the token in the run file next to the state. `svc emulator tokens list` lists the others.",
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
    when: "the state, or a file next to it, cannot be written to disk",
    basis: ours,
    code: "store_failed",
    says: ({ refused }: { refused: string | undefined }) =>
      refused === undefined ? "The emulator cannot write its state." : `${refused}.`,
    hint: ({ refused }) =>
      refused === undefined
        ? "Run `svc emulator status` for the reason. Changes fail until the emulator can write again; it retries automatically."
        : "Nothing was changed. Free disk space or fix the permissions, and try again. `svc emulator ready` shows whether the state can be written.",
  }),
  "invalid-state": control({
    status: 400,
    when: "the document is not a state of this version",
    basis: ours,
    code: "invalid_state",
    says: ({ reason }: { reason: string }) => `This emulator cannot load the state: ${reason}`,
    hint: "Export one with `svc emulator state export` of the same version.",
  }),
  "foreign-clusters": control({
    status: 400,
    when: "the document has other clusters than the running emulator",
    basis: ours,
    code: "foreign_clusters",
    says: ({ here, there }: { here: string; there: string }) =>
      `The state has the clusters ${there}, but this emulator runs ${here}.`,
    hint: "Start an emulator with a seed that has those clusters, then import.",
  }),
};
