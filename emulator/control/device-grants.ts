import type { submitDevicePage } from "../../src/api/emulator/device-grants.ts";
import type { InputOf } from "../../src/api/operation.ts";
import { toIsoMillis } from "../../src/base/clock.ts";
import { deviceApprovals, findUserByEmail, findUserById } from "../cluster/identity/grants.ts";
import { oauthClients } from "../domain/client-credentials.ts";
import { type Workspace, workspaces } from "../domain/workspaces.ts";
import { inTransaction } from "../http/handler.ts";
import { createPage, Html, type HtmlPage, html, renderErrorBanner, renderHiddenFields } from "../http/page.ts";
import {
  type DecisionRejection,
  type DeviceGrant,
  decideGrant,
  deviceGrants,
  findGrantByUserCode,
  formatUserCode,
  toUserCodeKey,
} from "../router/device/rows.ts";
import type { Transaction, View } from "../store/port.ts";
import { type ControlContext, type ControlHandlers, createCsrfToken, requireCsrfToken, sendPage } from "./context.ts";

const maxListed = 500;

const decisionMessages: Readonly<Record<DecisionProblem, string>> = {
  unknown: "No device has this code.",
  expired: "This code has expired. Request a new code on the device.",
  decided: "This code was already approved or denied.",
  bound: "This code is bound to another cluster.",
  "no-cluster": "The emulator has no such cluster.",
  "no-person": "That cluster has no active user with this address.",
};

const codeFailures = {
  unknown: "no-such-user-code",
  expired: "user-code-expired",
  decided: "user-code-decided",
  bound: "user-code-bound",
} as const;

export const deviceGrantHandlers = {
  "device-grants.list": (_, { store }) =>
    store.list(deviceGrants, { reverse: true, limit: maxListed }).map(toDeviceRecord),

  "device-grants.approve": inTransaction((tx, { params: { user_code }, body }, context) => {
    const { clusters, caller, fail } = context;
    const result = decideDeviceGrant(tx, context, { ...body, user_code }, caller.token.workspace?.id);
    if (typeof result !== "string") return { user_code, status: result.status, cluster_id: result.cluster_id ?? "" };
    if (result === "no-cluster")
      return fail("no-such-cluster-here", { cluster: body.cluster_id ?? "", known: clusters.map(({ id }) => id) });
    if (result === "no-person") return fail("no-such-user", { email: body.email ?? "" });
    return fail(codeFailures[result], { code: user_code });
  }),

  "device-grants.page": ({ query: { user_code } }, context) =>
    sendPage(user_code === undefined ? renderEntryPage() : renderQuestion(context.store, context, { user_code })),

  "device-grants.submit": inTransaction((tx, { body }, context) => {
    const { form_token, email, ...decision } = body;
    requireCsrfToken(context, nameDevice(body.user_code), form_token, context.fail);
    const result = decideDeviceGrant(tx, context, { ...decision, email: email || undefined });
    return sendPage(
      typeof result === "string"
        ? renderQuestion(tx, context, body, decisionMessages[result])
        : createPage("Done", html`<p>${decisionOutcomes[decision.status]}</p>`),
    );
  }),
} satisfies ControlHandlers;

export const toDeviceRecord = ({ user_code, client_id, status, cluster_id, expires_at, redeemed }: DeviceGrant) => ({
  user_code: formatUserCode(user_code),
  client_id,
  status,
  cluster_id,
  expires_at: toIsoMillis(expires_at),
  redeemed,
});

const decisionOutcomes = {
  AUTHORIZED: "The device is approved. You can close this page.",
  DENIED: "The device is denied. You can close this page.",
} as const;

const nameDevice = (userCode: string): string => `device ${toUserCodeKey(userCode)}`;

/** Renders the page that asks for a code. The rejected input stays in the field. */
const renderEntryPage = (problem?: string, input?: string): HtmlPage =>
  createPage(
    "Connect a device",
    html`${renderErrorBanner(problem)}
<form method="get"><p><label>Code on the device: <input name="user_code" value="${input}" autocomplete="off" required autofocus></label></p>
<p><button>Continue</button></p></form>`,
  );

/** For an invalid code, renders the page that asks for a code. */
function renderQuestion(
  view: View,
  context: Pick<ControlContext, "clock" | "clusters" | "instance">,
  { user_code, cluster_id, email }: Omit<DeviceDecision, "status">,
  problem?: string,
): HtmlPage {
  const { clock, clusters } = context;
  const grant = findGrantByUserCode(view, user_code);
  if (!grant) return renderEntryPage(decisionMessages.unknown, user_code);
  if (grant.expires_at <= clock.now()) return renderEntryPage(decisionMessages.expired, user_code);
  if (grant.status !== "PENDING") return renderEntryPage(decisionMessages.decided, user_code);

  const client = view.get(oauthClients, grant.client_id);
  const choices = clusters
    .filter(({ id }) => (grant.cluster_id ?? id) === id)
    .map(({ id, label }) => {
      const selectedAttribute = new Html(id === cluster_id ? " selected" : "");
      return html`<option value="${id}"${selectedAttribute}>${id} (${label})</option>`;
    });
  const hiddenFields = {
    user_code: formatUserCode(user_code),
    form_token: createCsrfToken(context, nameDevice(user_code)),
  };
  return createPage(
    "Connect a device",
    html`${renderErrorBanner(problem)}
<p>${client?.client_name ?? grant.client_id} requests access. The device shows
<strong class="user-code">${hiddenFields.user_code}</strong></p>
<form method="post">${renderHiddenFields(hiddenFields)}
<p><label>Cluster: <select name="cluster_id">${choices}</select></label></p>
<p><label>E-mail address of the user (optional): <input name="email" type="email" value="${email}"></label></p>
<p><button name="status" value="AUTHORIZED">Approve</button>
<button name="status" value="DENIED" class="other">Deny</button></p></form>`,
  );
}

type DeviceDecision = Omit<InputOf<typeof submitDevicePage>["body"], "form_token">;

type DecisionProblem = DecisionRejection | "no-cluster" | "no-person";

/**
 * Approves or denies a user code, like the operation of the clusters. The approver is stored, so the tokens are issued
 * for this user. A token that is bound to a workspace approves as a user of this workspace.
 */
function decideDeviceGrant(
  tx: Transaction,
  { clusters, clock }: Pick<ControlContext, "clusters" | "clock">,
  { user_code, status, cluster_id, email }: DeviceDecision,
  workspaceId?: number,
): DeviceGrant | DecisionProblem {
  const workspace = workspaceId === undefined ? undefined : tx.get(workspaces, workspaceId);
  const boundClusterId = findGrantByUserCode(tx, user_code)?.cluster_id ?? undefined;
  const clusterId = cluster_id ?? workspace?.cluster_id ?? boundClusterId;
  const candidates = clusters.filter(({ id }) => (clusterId ?? id) === id && (workspace?.cluster_id ?? id) === id);
  if (candidates.length === 0) return "no-cluster";
  const person = findApprover(tx, candidates, workspace, email);
  if (!person) return "no-person";

  const grant = decideGrant(tx, clock.now(), user_code, { status, cluster_id: person.cluster.id });
  if (typeof grant !== "string" && person.user && status === "AUTHORIZED" && !grant.redeemed) {
    tx.put(deviceApprovals, { device_code: grant.device_code, user_id: person.user.id });
  }
  return grant;
}

/** Without an address, the acting user of the workspace approves, or of the cluster's first workspace. */
function findApprover(
  tx: Transaction,
  candidates: ControlContext["clusters"],
  workspace: Workspace | undefined,
  email: string | undefined,
) {
  for (const cluster of candidates) {
    if (email === undefined && workspace === undefined) return { cluster };
    const user =
      email === undefined
        ? findUserById(tx, cluster.id, workspace!.acting_user_id)
        : findUserByEmail(tx, cluster.id, email);
    if (user) return { cluster, user };
  }
  return undefined;
}
