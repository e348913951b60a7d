import type { ControlRole } from "../control-plane.ts";
import { defineControlFailures } from "../failure.ts";

const consoleBasis = { assumed: "The console is part of the emulator." };
/** A token without a workspace, because `--workspace` is not in the command. */
const otherToken = "another token from the operator of the emulator: svc emulator tokens create NAME --role ROLE.";
const tokenBasis = { assumed: "The control plane is part of the emulator (DECISIONS.md, E16)." };

interface MissingHistory {
  /** The missing part of the history, in words that complete a sentence about the history. */
  readonly lacks: string;
  /** Number of the newest request, if the rewind target is a later one. */
  readonly newest?: number | undefined;
  /** Virtual time at which the history starts, or undefined if it starts with the state. */
  readonly reach: string | undefined;
  /** Number of steps in the history, if the request specifies steps. */
  readonly steps: number | undefined;
  /** Whether the rewind target is a cause, if the request specifies one. */
  readonly isOfCause: boolean;
}

export const emulatorFailures = defineControlFailures({
  // Contracts and activities
  "no-such-contract": {
    status: 404,
    when: "the contract does not exist, or is deleted",
    says: ({ id }: { id: string }) => `Contract ${id} not found.`,
    hint: "Use its number (12) or its composite ID (T-12). `svc emulator contracts` lists all contracts.",
  },
  "no-such-member": {
    status: 404,
    when: "the workspace of the contract has no active member with that address",
    says: ({ email }: { email: string }) => `The contract's workspace has no active member with the address ${email}.`,
  },
  "no-such-entity": {
    status: 400,
    when: "the workspace of the contract has no entity with that reference ID",
    says: ({ reference_id, known }: { reference_id: string; known: string }) =>
      `Entity ${reference_id} not found in the workspace. Known: ${known}.`,
  },
  "entity-not-editable": {
    status: 400,
    when: "the contract is neither in DRAFT nor in REDLINING",
    says: ({ status }: { status: string }) =>
      `Cannot change the entity: status is ${status}, expected DRAFT or REDLINING.`,
    hint: "Run `svc contracts unmark` or `svc emulator resume` first.",
  },
  "no-contract-or-template": {
    status: 404,
    when: "no contract is given, and no contract or template exists",
    says: "No contract or template exists for the activity.",
    hint: "Start with a seed that has a template, such as demo.",
  },
  "field-exists": {
    status: 400,
    when: "an addition names an existing field of the payload",
    says: ({ path }: { path: string }) => `Cannot add ${path}: the payload already has it.`,
    hint: "Change it with --set.",
  },
  "no-such-field": {
    status: 400,
    when: "an override, a removal or an addition uses a path that the payload does not have",
    says: ({ path, known }: { path: string; known: string }) => `The payload has no ${path}. Known: ${known}.`,
  },

  // Approval of a device, and the stand-in provider
  "no-such-user-code": {
    status: 404,
    when: "no device grant has that user code",
    says: ({ code }: { code: string }) => `No device has the user code ${code}.`,
    hint: "List the devices with `svc emulator devices`.",
  },
  "user-code-expired": {
    status: 410,
    when: "the user code has expired",
    says: ({ code }: { code: string }) => `The user code ${code} has expired.`,
    hint: "Request a new code on the device.",
  },
  "user-code-decided": {
    status: 409,
    when: "the user code was already decided, differently or at another cluster",
    says: ({ code }: { code: string }) => `The user code ${code} was already approved or denied.`,
  },
  "user-code-bound": {
    status: 409,
    when: "another cluster bound the device grant to itself",
    says: ({ code }: { code: string }) => `The user code ${code} is bound to another cluster.`,
    hint: "Run `svc emulator devices` to see the cluster.",
  },
  "no-such-cluster-here": {
    status: 404,
    when: "the emulator has no such cluster",
    code: "no_such_cluster",
    says: ({ cluster, known }: { cluster: string; known: readonly string[] }) =>
      `Cluster ${cluster} not found. Known: ${known.join(", ")}.`,
  },
  "no-such-user": {
    status: 404,
    when: "the cluster has no active user with that address",
    says: ({ email }: { email: string }) => `The cluster has no active user with the address ${email}.`,
  },
  "stale-form": {
    status: 403,
    when: "the form is not from a page of this run of the emulator",
    says: "The form was not made by this emulator.",
    hint: "Load the page again.",
  },

  // Tokens of chat_b
  "foreign-issuer": {
    status: 409,
    when: "the seed names an issuer of bot-framework tokens other than the emulator",
    says: ({ url }: { url: string }) => `The router trusts the issuer at ${url}, not the emulator's own issuer.`,
    hint: "Request a token from that issuer, or remove apps.chat_b.openid_metadata_url from the seed.",
  },

  // The clock
  "time-in-past": {
    status: 400,
    when: "the requested time is not after the current virtual time",
    says: ({ now }: { now: string }) => `Virtual time is already ${now} and cannot go backwards.`,
    hint: "Choose a time after it. To go back, run `svc emulator rewind`; to start again, `svc emulator reset`.",
  },
  "time-out-of-range": {
    status: 400,
    when: "the requested time is after the year 9999",
    says: "Virtual time ends with the year 9999.",
  },
  "advance-in-progress": {
    status: 409,
    when: "another request is advancing the clock",
    says: "Another request is advancing the clock.",
    hint: "Wait until it completes, then try again.",
  },
  "delivery-in-progress": {
    status: 409,
    when: "a receiver has not responded to an earlier delivery for a second",
    says: "A receiver has not responded to a webhook for 1 s. The clock was not advanced.",
    hint:
      "Try again once it has responded or timed out (SVC_WEBHOOK_TIMEOUT, 60s by default). A receiver that advances " +
      "the clock must respond first. `svc webhooks schedule` lists its delivery first.",
  },

  // Webhooks and deliveries
  "no-such-webhook": {
    status: 404,
    when: "the webhook does not exist, or is deleted",
    says: ({ id }: { id: number }) => `Webhook ${id} not found.`,
    hint: "List them with `svc emulator webhooks`.",
  },
  "no-subscriber": {
    status: 409,
    when: "`wait` is given, and no webhook is subscribed to the activity or the observed service does not send it",
    says: ({ reason }: { reason: string }) => `${reason}. Nothing was sent.`,
  },
  "no-such-delivery": {
    status: 404,
    when: "the delivery does not exist, or its record was removed after 30 or 90 days",
    says: ({ id }: { id: number }) => `Delivery ${id} not found.`,
    hint: "List them with `svc emulator deliveries`.",
  },
  "webhook-deleted": {
    status: 409,
    when: "the webhook of the delivery is deleted",
    says: ({ webhook_id }: { webhook_id: number }) => `Cannot resend: webhook ${webhook_id} is deleted.`,
  },

  // Invitations
  "no-such-invitation": {
    status: 404,
    when: "no cluster and no seed issued that token",
    says: "Invitation not found for this token.",
    hint: "List them with `svc emulator invitations`.",
  },
  "invitation-without-recipient": {
    status: 409,
    when: "the token is from the seed and invites no particular person",
    says: ({ workspace }: { workspace: string }) =>
      `This token is from the seed, for the workspace ${workspace}, and invites no particular person.`,
    hint: "To invite a person, use invited_users of `svc trial complete`.",
  },
  "invitation-to-contract": {
    status: 409,
    when: "the invitation is to a contract",
    says: ({ email, contract }: { email: string; contract: string }) =>
      `The invitation of ${email} to the contract ${contract} cannot be accepted. It ends with the contract.`,
    hint: "Open its link (`svc emulator invitations`), or sign with `svc emulator sign`.",
  },
  "invitation-already-accepted": {
    status: 409,
    when: "the invitation was accepted before",
    says: ({ email }: { email: string }) => `${email} has already accepted this invitation.`,
  },

  // Faults and inboxes
  "no-such-fault": {
    status: 404,
    when: "the fault does not exist, or was removed",
    says: ({ id }: { id: number }) => `Fault ${id} not found.`,
    hint: "List them with `svc emulator fault list`.",
  },
  "external-cluster": {
    status: 409,
    when: "the cluster is not run by the emulator",
    says: ({ cluster, url }: { cluster: string; url: string }) =>
      `Cluster ${cluster} is external (${url}). The emulator does not store its data or requests.`,
  },

  // Snapshots and history
  "no-such-snapshot": {
    status: 404,
    when: "no snapshot has that name",
    says: ({ name, known }: { name: string; known: string }) => `Snapshot ${name} not found. Known: ${known}.`,
    hint: "List them with `svc emulator snapshot list`.",
  },
  "snapshot-exists": {
    status: 409,
    when: "a snapshot has that name, ignoring case, and `replace` is not given",
    says: ({ name }: { name: string }) => `Snapshot ${name} already exists.`,
    hint: "Choose another name, or use --replace.",
  },
  "no-history": {
    status: 409,
    when: "the emulator has no history: it runs in memory, or with `SVC_HISTORY=0`",
    says: "This emulator has no history. It requires a state in a file or a database, and SVC_HISTORY above 0.",
    hint: "Save snapshots with `svc emulator snapshot save NAME`.",
  },
  "rewind-out-of-range": {
    status: 409,
    when: "the history does not reach back that far, or does not include the cause",
    says: ({ lacks, newest, reach }: MissingHistory) =>
      newest !== undefined
        ? `Cannot rewind ${lacks}. Nothing was changed.`
        : `Cannot rewind ${lacks}. It reaches back to ${reach ?? "the beginning of the state"}. Nothing was changed.`,
    hint: ({ newest, reach, steps, isOfCause }: MissingHistory) =>
      [
        ...(newest === undefined ? [] : ["`svc emulator requests` lists the requests."]),
        ...(isOfCause ? [] : ["Use a cause, such as request:12. `svc emulator trace REF` shows it."]),
        ...(reach === undefined || newest !== undefined || !isOfCause
          ? []
          : ["Start with a larger SVC_HISTORY to retain more."]),
        ...(steps ? [`\`svc emulator rewind --steps ${steps}\` goes back to its beginning.`] : []),
        "`svc emulator snapshot list` shows the saved states.",
      ].join(" "),
  },
  "time-in-future": {
    status: 400,
    when: "the time to rewind to is after the current virtual time",
    says: ({ now }: { now: string }) => `Cannot rewind to the future: virtual time is ${now}.`,
    hint: "Advance the clock with `svc emulator clock advance`.",
  },
  "unusable-snapshot": {
    status: 409,
    when: "the snapshot is damaged, renamed, not a snapshot, or of another version of svc or other clusters",
    says: ({ name, reason }: { name: string; reason: string }) =>
      `Cannot use snapshot ${name}: ${reason}. Nothing was changed.`,
    hint: ({ name }: { name: string }) =>
      `\`svc emulator snapshot list\` shows the others and their files. \`svc emulator snapshot remove ${name}\` removes this one.`,
  },

  // Traces
  "no-such-trace": {
    status: 404,
    when: "the reference does not exist, has no effects, or is no longer retained",
    says: ({ ref }: { ref: string }) => `${ref} has no trace.`,
    hint: "It does not exist, changed nothing or only tokens, or is no longer retained. A token of a workspace traces only the contracts, webhooks, events and deliveries of that workspace. `svc emulator requests` lists the requests.",
  },
  "malformed-ref": {
    status: 404,
    when: "the reference is not valid",
    says: ({ ref }: { ref: string }) => `"${ref}" is not a valid trace reference.`,
    hint: "Use request:12, T-1, delivery:3, event:4, webhook:1, timer:5, advance:6 or a W3C trace ID.",
  },

  // The console
  "no-such-asset": {
    status: 404,
    when: "the console has no file of that name",
    basis: consoleBasis,
    says: ({ name }: { name: string }) => `The console has no file ${name}.`,
    hint: "Reload the page. It may be from another version of svc.",
  },
  "invalid-session-code": {
    status: 403,
    when: "the code was used, is older than a minute, or is from another emulator",
    basis: consoleBasis,
    says: "The sign-in code is invalid. Codes work once, within a minute.",
    hint: "Run `svc emulator open` for a new code.",
  },

  // Roles and tokens
  "insufficient-role": {
    status: 403,
    when: "the role of the token does not allow the operation",
    basis: tokenBasis,
    says: ({ token, role, needs }: { token: string; role: ControlRole; needs: ControlRole }) =>
      `The role ${needs} is required. The token ${token} has the role ${role}.`,
    hint: `Request ${otherToken}`,
  },
  "workspace-token-not-allowed": {
    status: 403,
    when: "the token is bound to a workspace, and the operation affects all workspaces",
    basis: tokenBasis,
    says: ({ token, workspace, isConsole }: { token: string; workspace: string; isConsole: boolean }) =>
      `${isConsole ? "The console shows" : "This operation affects"} all workspaces. The token ${token} is bound to the workspace ${workspace}.`,
    hint: ({ isConsole }: { isConsole: boolean }) =>
      `Request ${otherToken}${isConsole ? " With this one, use commands such as `svc emulator contracts` and `svc emulator requests`." : ""}`,
  },
  "no-such-workspace-name": {
    status: 404,
    when: "the workspace does not exist",
    basis: tokenBasis,
    says: ({ name, known }: { name: string; known: readonly string[] }) =>
      `Workspace ${name} not found. Known: ${known.join(", ")}.`,
    hint: "List them with `svc emulator workspaces`.",
  },
  "token-name-taken": {
    status: 409,
    when: "a token with that name exists, or the name is reserved for the token of the run file",
    basis: tokenBasis,
    says: ({ name }: { name: string }) => `Token ${name} already exists.`,
    hint: "Choose another name, or revoke it first: svc emulator tokens revoke.",
  },
  "no-such-token": {
    status: 404,
    when: "the token does not exist",
    basis: tokenBasis,
    says: ({ name }: { name: string }) => `Token ${name} not found.`,
    hint: "List the tokens with svc emulator tokens list.",
  },

  // Workspaces
  "workspace-exists": {
    status: 409,
    when: "a workspace has that name, ignoring case",
    says: ({ name, id, cluster }: { name: string; id: number; cluster: string }) =>
      `Workspace ${name} already exists (${id} of ${cluster}).`,
    hint: "Choose another name. `svc emulator workspaces` lists all workspaces.",
  },
  "no-such-workspace": {
    status: 404,
    when: "the workspace does not exist, or was removed",
    says: ({ id }: { id: number }) => `Workspace ${id} not found.`,
    hint: "List them with `svc emulator workspaces`.",
  },
  "last-workspace": {
    status: 409,
    when: "the workspace is the only one of its cluster",
    says: ({ name, cluster }: { name: string; cluster: string }) =>
      `Cannot remove ${name}: it is the only workspace of ${cluster}.`,
    hint: "Create another one first with `svc emulator workspaces create`.",
  },

  // All operations, and the state
  "no-control-token": {
    status: 401,
    when: "no control token was sent",
    code: "unauthorized",
    says: "The control plane requires `authorization: Bearer <token>`.",
    hint: "Use the token that `svc emulator start` prints and the run file next to the state contains.",
  },
  "unknown-control-token": {
    status: 401,
    when: "the control token is unknown or revoked, or its session has ended",
    code: "unknown_token",
    says: "The control token is invalid: it is unknown or revoked, or its session has ended.",
    hint: `Use the token in the run file next to the state, or request ${otherToken}`,
  },
  "invalid-control-input": {
    status: 400,
    when: "the body, the query or the path is not as declared",
    code: "invalid_input",
    says: ({ problems }: { problems: readonly string[] }) => problems.join("; "),
  },
  "control-store-failed": {
    status: 503,
    when: "the state, or a file next to it, cannot be written to disk",
    code: "store_failed",
    says: ({ refused, reason }: { refused: string | undefined; reason: string | undefined }) =>
      `${refused ?? `The emulator cannot write its state${reason === undefined ? "" : `: ${reason}`}`}.`,
    hint: ({ refused }: { refused: string | undefined }) =>
      refused === undefined
        ? "Nothing was changed. Free space on its disk, or fix the permissions of its files or database. Its log has the reason. It continues when it can write again."
        : "Nothing was changed. Free disk space or fix the permissions, and try again. `svc emulator ready` shows whether the state can be written.",
  },
  "invalid-state": {
    status: 400,
    when: "the document is not a state of this version",
    says: ({ reason }: { reason: string }) => `This emulator cannot load the state: ${reason}`,
    hint: "Export one with `svc emulator state export` of the same version.",
  },
  "foreign-clusters": {
    status: 400,
    when: "the clusters of the document differ from those of the running emulator",
    says: ({ own, imported }: { own: string; imported: string }) =>
      `The state has the clusters ${imported}, but this emulator runs ${own}.`,
    hint: "Start an emulator with a seed that has those clusters, then import.",
  },
});
