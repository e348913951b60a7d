import { controlPlaneBasis, createAssumption } from "../basis.ts";
import type { ControlRole } from "../control-roles.ts";
import { defineControlFailure } from "../failure.ts";

const controlChatBFailures = {
  "foreign-issuer": defineControlFailure({
    status: 409,
    when: "the seed sets another issuer of bot-framework tokens than the emulator",
    basis: controlPlaneBasis,
    code: "foreign_issuer",
    says: ({ url }: { url: string }) => `The router trusts the issuer at ${url}, not the emulator's own issuer.`,
    hint: "Request a token from that issuer, or remove apps.chat_b.openid_metadata_url from the seed.",
  }),
};

const clockFailures = {
  "time-in-past": defineControlFailure({
    status: 400,
    when: "the requested time is not after the current virtual time",
    basis: controlPlaneBasis,
    code: "time_in_past",
    says: ({ now }: { now: string }) => `Virtual time is already ${now} and cannot go backwards.`,
    hint: "Choose a time after it. To start again, run `svc emulator reset`.",
  }),
  "time-out-of-range": defineControlFailure({
    status: 400,
    when: "the requested time is after the year 9999",
    basis: controlPlaneBasis,
    code: "time_out_of_range",
    says: "Virtual time ends with the year 9999.",
  }),
  "advance-in-progress": defineControlFailure({
    status: 409,
    when: "another request is advancing the clock",
    basis: controlPlaneBasis,
    code: "advance_in_progress",
    says: "Another request is advancing the clock.",
    hint: "Wait until it completes, then try again.",
  }),
  "delivery-in-progress": defineControlFailure({
    status: 409,
    when: "a receiver has not responded to an earlier delivery for a second",
    basis: controlPlaneBasis,
    code: "delivery_in_progress",
    says: "A receiver has not responded to a webhook for 1 s. The clock was not advanced.",
    hint: "If the receiver advances the clock, let it respond to the webhook first. Otherwise try again.",
  }),
};

const consoleBasis = createAssumption("The console is part of the emulator.");

const consoleFailures = {
  "no-such-asset": defineControlFailure({
    status: 404,
    when: "the console has no file of that name",
    basis: consoleBasis,
    code: "no_such_asset",
    says: ({ name }: { name: string }) => `The console has no file ${name}.`,
    hint: "Reload the page. It may be from another version of svc.",
  }),
  "invalid-session-code": defineControlFailure({
    status: 403,
    when: "the code was used, is older than a minute, or is from another emulator",
    basis: consoleBasis,
    code: "invalid_session_code",
    says: "The sign-in code is invalid. Codes work once, within a minute.",
    hint: "Run `svc emulator open` for a new code.",
  }),
};

const controlContractFailures = {
  "no-such-contract": defineControlFailure({
    status: 404,
    when: "the contract does not exist, or is deleted",
    basis: controlPlaneBasis,
    code: "no_such_contract",
    says: ({ id }: { id: string }) => `Contract ${id} not found.`,
    hint: "Use its number (12) or its composite ID (T-12). `svc emulator contracts` lists all contracts.",
  }),
  "no-such-member": defineControlFailure({
    status: 404,
    when: "the workspace of the contract has no active member with that address",
    basis: controlPlaneBasis,
    code: "no_such_member",
    says: ({ email }: { email: string }) => `The contract's workspace has no active member with the address ${email}.`,
  }),
  "no-such-entity": defineControlFailure({
    status: 400,
    when: "the workspace of the contract has no entity with that reference ID",
    basis: controlPlaneBasis,
    code: "no_such_entity",
    says: ({ reference_id, known }: { reference_id: string; known: string }) =>
      `Entity ${reference_id} not found in the workspace. Known: ${known}.`,
  }),
  "entity-not-editable": defineControlFailure({
    status: 400,
    when: "the contract is neither in DRAFT nor in REDLINING",
    basis: controlPlaneBasis,
    code: "entity_not_editable",
    says: ({ status }: { status: string }) =>
      `Cannot change the entity: status is ${status}, expected DRAFT or REDLINING.`,
    hint: "Run `svc contracts unmark` or `svc emulator resume` first.",
  }),
  "no-contract-or-template": defineControlFailure({
    status: 404,
    when: "no contract is given, and no contract or template exists",
    basis: controlPlaneBasis,
    code: "no_contract_or_template",
    says: "No contract or template exists for the activity.",
    hint: "Start with a seed that has a template, such as demo.",
  }),
  "field-exists": defineControlFailure({
    status: 400,
    when: "an addition names an existing field of the payload",
    basis: controlPlaneBasis,
    code: "field_exists",
    says: ({ path }: { path: string }) => `Cannot add ${path}: the payload already has it.`,
    hint: "Change it with --set.",
  }),
  "no-such-field": defineControlFailure({
    status: 400,
    when: "an override, a removal or an addition uses a path that the payload does not have",
    basis: controlPlaneBasis,
    code: "no_such_field",
    says: ({ path, known }: { path: string; known: string }) => `The payload has no ${path}. Known: ${known}.`,
  }),
};

const controlInvitationFailures = {
  "no-such-invitation": defineControlFailure({
    status: 404,
    when: "no cluster and no seed issued that token",
    basis: controlPlaneBasis,
    code: "no_such_invitation",
    says: "Invitation not found for this token.",
    hint: "List them with `svc emulator invitations`.",
  }),
  "invitation-without-recipient": defineControlFailure({
    status: 409,
    when: "the token is from the seed and invites no particular person",
    basis: controlPlaneBasis,
    code: "invitation_without_recipient",
    says: ({ workspace }: { workspace: string }) =>
      `This token is from the seed, for the workspace ${workspace}, and invites no particular person.`,
    hint: "Invite a person: `svc trial complete` with invited_users.",
  }),
  "invitation-to-contract": defineControlFailure({
    status: 409,
    when: "the invitation is to a contract",
    basis: controlPlaneBasis,
    code: "invitation_to_contract",
    says: ({ email, contract }: { email: string; contract: string }) =>
      `The invitation of ${email} to the contract ${contract} cannot be accepted. It ends with the contract.`,
    hint: "Open its link (`svc emulator invitations`), or sign with `svc emulator sign`.",
  }),
  "invitation-already-accepted": defineControlFailure({
    status: 409,
    when: "the invitation was accepted before",
    basis: controlPlaneBasis,
    code: "invitation_already_accepted",
    says: ({ email }: { email: string }) => `${email} has already accepted this invitation.`,
  }),
};

/** Failures of scripting faults and reading inboxes. */
const controlScriptFailures = {
  "no-such-fault": defineControlFailure({
    status: 404,
    when: "the fault does not exist, or was removed",
    basis: controlPlaneBasis,
    code: "no_such_fault",
    says: ({ id }: { id: number }) => `Fault ${id} not found.`,
    hint: "List them with `svc emulator fault list`.",
  }),
  "external-cluster": defineControlFailure({
    status: 409,
    when: "the cluster is not run by the emulator",
    basis: controlPlaneBasis,
    code: "external_cluster",
    says: ({ cluster, url }: { cluster: string; url: string }) =>
      `Cluster ${cluster} is external (${url}). The emulator does not store its data or requests.`,
  }),
};

/** Failures of approving a device and of the stand-in provider. */
const controlSignInFailures = {
  "no-such-user-code": defineControlFailure({
    status: 404,
    when: "no device grant has that user code",
    basis: controlPlaneBasis,
    code: "no_such_user_code",
    says: ({ code }: { code: string }) => `No device has the user code ${code}.`,
    hint: "List the devices with `svc emulator devices`.",
  }),
  "user-code-expired": defineControlFailure({
    status: 410,
    when: "the user code has expired",
    basis: controlPlaneBasis,
    code: "user_code_expired",
    says: ({ code }: { code: string }) => `The user code ${code} has expired.`,
    hint: "Request a new code on the device.",
  }),
  "user-code-decided": defineControlFailure({
    status: 409,
    when: "the user code was already decided, differently or at another cluster",
    basis: controlPlaneBasis,
    code: "user_code_decided",
    says: ({ code }: { code: string }) => `The user code ${code} was already approved or denied.`,
  }),
  "user-code-bound": defineControlFailure({
    status: 409,
    when: "another cluster bound the device grant to itself",
    basis: controlPlaneBasis,
    code: "user_code_bound",
    says: ({ code }: { code: string }) => `The user code ${code} is bound to another cluster.`,
    hint: "Run `svc emulator devices` to see the cluster.",
  }),
  "no-such-cluster-here": defineControlFailure({
    status: 404,
    when: "the emulator has no such cluster",
    basis: controlPlaneBasis,
    code: "no_such_cluster",
    says: ({ cluster, known }: { cluster: string; known: readonly string[] }) =>
      `Cluster ${cluster} not found. Known: ${known.join(", ")}.`,
  }),
  "no-such-user": defineControlFailure({
    status: 404,
    when: "the cluster has no active user with that address",
    basis: controlPlaneBasis,
    code: "no_such_user",
    says: ({ email }: { email: string }) => `The cluster has no active user with the address ${email}.`,
  }),
  "stale-form": defineControlFailure({
    status: 403,
    when: "the form is not from a page of this run of the emulator",
    basis: controlPlaneBasis,
    code: "stale_form",
    says: "The form was not made by this emulator.",
    hint: "Load the page again.",
  }),
};

interface RewindOutOfRangeError {
  /** The missing part of the history, in words that complete a sentence about the history. */
  readonly lacks: string;
  /** Virtual time at which the history starts, or undefined if it starts with the state. */
  readonly reach: string | undefined;
  /** Number of steps in the history, if the request specifies steps. */
  readonly steps: number | undefined;
  /** Whether the rewind target is a cause, if the request specifies one. */
  readonly isOfCause: boolean;
}

const snapshotFailures = {
  "no-such-snapshot": defineControlFailure({
    status: 404,
    when: "no snapshot has that name",
    basis: controlPlaneBasis,
    code: "no_such_snapshot",
    says: ({ name, known }: { name: string; known: string }) => `Snapshot ${name} not found. Known: ${known}.`,
    hint: "List them with `svc emulator snapshot list`.",
  }),
  "snapshot-exists": defineControlFailure({
    status: 409,
    when: "a snapshot has that name, ignoring case, and `replace` is not given",
    basis: controlPlaneBasis,
    code: "snapshot_exists",
    says: ({ name }: { name: string }) => `Snapshot ${name} already exists.`,
    hint: "Choose another name, or use --replace.",
  }),
  "no-history": defineControlFailure({
    status: 409,
    when: "the emulator has no history: it runs in memory, or with `SVC_HISTORY=0`",
    basis: controlPlaneBasis,
    code: "no_history",
    says: "This emulator has no history. It requires a state in a file or a database, and SVC_HISTORY above 0.",
    hint: "Save snapshots with `svc emulator snapshot save NAME`.",
  }),
  "rewind-out-of-range": defineControlFailure({
    status: 409,
    when: "the history does not reach back that far, or does not include the cause",
    basis: controlPlaneBasis,
    code: "rewind_out_of_range",
    says: ({ lacks, reach }: RewindOutOfRangeError) =>
      `Cannot rewind ${lacks}. It reaches back to ${reach ?? "the beginning of the state"}. Nothing was changed.`,
    hint: ({ reach, steps, isOfCause }: RewindOutOfRangeError) =>
      [
        ...(isOfCause ? [] : ["Use a cause, such as request:12. `svc emulator trace REF` shows it."]),
        ...(reach === undefined || !isOfCause ? [] : ["Start with a larger SVC_HISTORY to retain more."]),
        ...(steps ? [`\`svc emulator rewind --steps ${steps}\` goes back to its beginning.`] : []),
        "`svc emulator snapshot list` shows the saved states.",
      ].join(" "),
  }),
  "time-in-future": defineControlFailure({
    status: 400,
    when: "the time to rewind to is after the current virtual time",
    basis: controlPlaneBasis,
    code: "time_in_future",
    says: ({ now }: { now: string }) => `Cannot rewind to the future: virtual time is ${now}.`,
    hint: "Advance the clock with `svc emulator clock advance`.",
  }),
  "unusable-snapshot": defineControlFailure({
    status: 409,
    when: "the snapshot is damaged, renamed, not a snapshot, or of another version of svc or other clusters",
    basis: controlPlaneBasis,
    code: "unusable_snapshot",
    says: ({ name, reason }: { name: string; reason: string }) =>
      `Cannot use snapshot ${name}: ${reason}. Nothing was changed.`,
    hint: ({ name }) =>
      `\`svc emulator snapshot list\` shows the others and their files. \`svc emulator snapshot remove ${name}\` removes this one.`,
  }),
};

const tokenBasis = createAssumption("The control plane is part of the emulator (DECISIONS.md, E16).");

const tokenFailures = {
  "insufficient-role": defineControlFailure({
    status: 403,
    when: "the role of the token does not allow the operation",
    basis: tokenBasis,
    code: "insufficient_role",
    says: ({ token, role, needs }: { token: string; role: ControlRole; needs: ControlRole }) =>
      `The role ${needs} is required. The token ${token} has the role ${role}.`,
    hint: "Request another token from the operator of the emulator: svc emulator tokens create NAME --role ROLE.",
  }),
  "workspace-token-not-allowed": defineControlFailure({
    status: 403,
    when: "the token is bound to a workspace, and the operation affects all workspaces",
    basis: tokenBasis,
    code: "workspace_token_not_allowed",
    says: ({ token, workspace }: { token: string; workspace: string }) =>
      `This operation affects all workspaces. The token ${token} is bound to the workspace ${workspace}.`,
    hint: "Use a token without a workspace. The operator of the emulator can create one.",
  }),
  "no-such-workspace-name": defineControlFailure({
    status: 404,
    when: "the workspace does not exist",
    basis: tokenBasis,
    code: "no_such_workspace_name",
    says: ({ name, known }: { name: string; known: readonly string[] }) =>
      `Workspace ${name} not found. Known: ${known.join(", ")}.`,
    hint: "List them with `svc emulator workspaces`.",
  }),
  "token-name-taken": defineControlFailure({
    status: 409,
    when: "a token with that name exists, or the name is reserved for the token of the run file",
    basis: tokenBasis,
    code: "token_name_taken",
    says: ({ name }: { name: string }) => `Token ${name} already exists.`,
    hint: "Choose another name, or revoke it first: svc emulator tokens revoke.",
  }),
  "no-such-token": defineControlFailure({
    status: 404,
    when: "the token does not exist",
    basis: tokenBasis,
    code: "no_such_token",
    says: ({ name }: { name: string }) => `Token ${name} not found.`,
    hint: "List the tokens with svc emulator tokens list.",
  }),
};

const controlTraceFailures = {
  "no-such-trace": defineControlFailure({
    status: 404,
    when: "the reference does not exist, has no effects, or is no longer retained",
    basis: controlPlaneBasis,
    code: "no_such_trace",
    says: ({ ref }: { ref: string }) => `${ref} has no trace.`,
    hint: "Requests that changed nothing have no trace. `svc emulator requests` lists them.",
  }),
  "malformed-ref": defineControlFailure({
    status: 404,
    when: "the reference is not valid",
    basis: controlPlaneBasis,
    code: "malformed_ref",
    says: ({ ref }: { ref: string }) => `"${ref}" is not a valid trace reference.`,
    hint: "Use request:12, T-1, delivery:3, event:4, webhook:1, timer:5, advance:6 or a W3C trace ID.",
  }),
};

const controlWebhookFailures = {
  "no-such-webhook": defineControlFailure({
    status: 404,
    when: "the webhook does not exist, or is deleted",
    basis: controlPlaneBasis,
    code: "no_such_webhook",
    says: ({ id }: { id: number }) => `Webhook ${id} not found.`,
    hint: "List them with `svc emulator webhooks`.",
  }),
  "no-such-delivery": defineControlFailure({
    status: 404,
    when: "the delivery does not exist, or its record was removed after 30 or 90 days",
    basis: controlPlaneBasis,
    code: "no_such_delivery",
    says: ({ id }: { id: number }) => `Delivery ${id} not found.`,
    hint: "List them with `svc emulator deliveries`.",
  }),
  "webhook-deleted": defineControlFailure({
    status: 409,
    when: "the webhook of the delivery is deleted",
    basis: controlPlaneBasis,
    code: "webhook_deleted",
    says: ({ webhook_id }: { webhook_id: number }) => `Cannot resend: webhook ${webhook_id} is deleted.`,
  }),
};

/** Failures of operations on workspaces. */
const controlWorkspaceFailures = {
  "workspace-exists": defineControlFailure({
    status: 409,
    when: "a workspace has that name, ignoring case",
    basis: controlPlaneBasis,
    code: "workspace_exists",
    says: ({ name, id, cluster }: { name: string; id: number; cluster: string }) =>
      `Workspace ${name} already exists (${id} of ${cluster}).`,
    hint: "Choose another name. `svc emulator workspaces` lists all workspaces.",
  }),
  "no-such-workspace": defineControlFailure({
    status: 404,
    when: "the workspace does not exist, or was removed",
    basis: controlPlaneBasis,
    code: "no_such_workspace",
    says: ({ id }: { id: number }) => `Workspace ${id} not found.`,
    hint: "List them with `svc emulator workspaces`.",
  }),
  "last-workspace": defineControlFailure({
    status: 409,
    when: "the workspace is the only one of its cluster",
    basis: controlPlaneBasis,
    code: "last_workspace",
    says: ({ name, cluster }: { name: string; cluster: string }) =>
      `Cannot remove ${name}: it is the only workspace of ${cluster}.`,
    hint: "Create another one first with `svc emulator workspaces create`.",
  }),
};

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
  "no-control-token": defineControlFailure({
    status: 401,
    when: "no control token was sent",
    basis: controlPlaneBasis,
    code: "unauthorized",
    says: "The control plane requires `authorization: Bearer <token>`.",
    hint: "Use the token that `svc emulator start` prints and the run file next to the state contains.",
  }),
  "unknown-control-token": defineControlFailure({
    status: 401,
    when: "the control token is unknown or revoked, or its session has ended",
    basis: controlPlaneBasis,
    code: "unknown_token",
    says: "The control token is invalid: it is unknown or revoked, or its session has ended.",
    hint: "Use the token in the run file next to the state. `svc emulator tokens list` lists the others.",
  }),
  "invalid-control-input": defineControlFailure({
    status: 400,
    when: "the body, the query or the path is not as declared",
    basis: controlPlaneBasis,
    code: "invalid_input",
    says: ({ problems }: { problems: readonly string[] }) => problems.join("; "),
  }),
  "control-store-failed": defineControlFailure({
    status: 503,
    when: "the state, or a file next to it, cannot be written to disk",
    basis: controlPlaneBasis,
    code: "store_failed",
    says: ({ refused }: { refused: string | undefined }) =>
      refused === undefined ? "The emulator cannot write its state." : `${refused}.`,
    hint: ({ refused }) =>
      refused === undefined
        ? "Run `svc emulator status` for the reason. Changes fail until the emulator can write again; it retries automatically."
        : "Nothing was changed. Free disk space or fix the permissions, and try again. `svc emulator ready` shows whether the state can be written.",
  }),
  "invalid-state": defineControlFailure({
    status: 400,
    when: "the document is not a state of this version",
    basis: controlPlaneBasis,
    code: "invalid_state",
    says: ({ reason }: { reason: string }) => `This emulator cannot load the state: ${reason}`,
    hint: "Export one with `svc emulator state export` of the same version.",
  }),
  "foreign-clusters": defineControlFailure({
    status: 400,
    when: "the document has other clusters than the running emulator",
    basis: controlPlaneBasis,
    code: "foreign_clusters",
    says: ({ own, imported }: { own: string; imported: string }) =>
      `The state has the clusters ${imported}, but this emulator runs ${own}.`,
    hint: "Start an emulator with a seed that has those clusters, then import.",
  }),
};
