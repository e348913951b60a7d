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

const ours = assumed("The control plane is the emulator's own.");

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
    says: "The control plane needs `authorization: Bearer <token>`.",
    hint: "The token stands in the run file beside the state, and is printed by `svc emulator start`.",
  }),
  "unknown-control-token": control({
    status: 401,
    when: "the control token is wrong, was revoked, or is of a session that has ended",
    basis: ours,
    code: "unknown_token",
    says: "The control plane does not know this token: it is wrong, was revoked, or is of a session that has ended.",
    hint: "The present one stands in the run file beside the state; whoever has it lists the others with `svc emulator tokens list`.",
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
    when: "the state, or a file beside it, cannot be written to disk",
    basis: ours,
    code: "store_failed",
    says: ({ refused }: { refused: string | undefined }) =>
      refused === undefined ? "The emulator cannot write its state." : `${refused}.`,
    hint: ({ refused }) =>
      refused === undefined
        ? "See `svc emulator status`; changes fail until it can write again, which it tries by itself."
        : "Nothing was changed by it. Let the emulator write there, or make room, and try again; `svc emulator ready` says whether it can write its state.",
  }),
  "invalid-state": control({
    status: 400,
    when: "the document is not a state of this version",
    basis: ours,
    code: "invalid_state",
    says: ({ reason }: { reason: string }) => `This is not a state that this emulator can take: ${reason}`,
    hint: "Take one from `svc emulator state export` of the same version.",
  }),
  "foreign-clusters": control({
    status: 400,
    when: "the document has other clusters than the running emulator",
    basis: ours,
    code: "foreign_clusters",
    says: ({ here, there }: { here: string; there: string }) =>
      `The state is of the clusters ${there}, but ${here} are running`,
    hint: "Start an emulator whose seed has those clusters, then import.",
  }),
};
