import { getValueAt, isObject, lookupTable } from "../../src/base/object.ts";
import { findCustomerIds } from "../domain/apps.ts";
import { type Workspace, workspaces } from "../domain/workspaces.ts";
import { findString, isFormType, parseJsonObject, readFormFields } from "../http/bodies/fields.ts";
import type { FindingReporter, ReceivedRequest } from "../http/handler.ts";
import { createJsonPassthrough } from "../http/reply.ts";
import type { View } from "../store/port.ts";
import type { ClusterContext, ForwardedHandler } from "./context.ts";
import { addComment } from "./contracts/comments.ts";
import { type Contract, contracts, formatCompositeId, selectContractsOfWorkspace } from "./contracts/rows.ts";

interface ChatComment {
  readonly author: string;
  readonly text: string;
  /** Fields that can name the contract, in order of precedence. */
  readonly references: readonly string[];
  /** True if the request must name a contract. A button must, a message need not. */
  readonly isAboutContract: boolean;
}

const webhookPath = /^\/router\/v1\/integrations\/(?:destinations\/[^/]+\/)?(chat_[ab])\/webhook\/(\w+)\/?$/;

/** A message that names a contract becomes a comment. A menu gets matching contracts (DECISIONS.md, R21 and R22). */
export const respondToChat: ForwardedHandler = async (request, context, finding) => {
  const [, app, webhook] = webhookPath.exec(request.parsedTarget.path) ?? [];
  if (request.method !== "POST" || app === undefined) return undefined;
  const payload = app === "chat_a" ? parsePayload(request) : parseJsonObject(request.body);
  if (!payload) return createJsonPassthrough(200, {});
  const findWorkspace = createWorkspaceFinder(app === "chat_a" ? listTeams(payload) : listTenants(payload), context);
  if (webhook === "options") {
    const workspace = findWorkspace(context.store, finding);
    return createJsonPassthrough(200, { options: workspace ? listOptions(context.store, payload, workspace) : [] });
  }
  const comment = app === "chat_a" ? parseChatAComment(payload) : parseChatBComment(payload);
  const compositeId = comment?.references
    .map((reference) => /\b[TH]-\d{1,15}\b/.exec(reference)?.[0])
    .find((id) => id !== undefined);
  if (!comment || (compositeId === undefined && !comment.isAboutContract)) return createJsonPassthrough(200, {});
  return context.store.transaction(`${app}.${webhook}`, (tx) => {
    const workspace = findWorkspace(tx, finding);
    if (!workspace) return createJsonPassthrough(200, {});
    const contract = compositeId === undefined ? undefined : findContract(tx, workspace, compositeId);
    if (!contract) {
      const problem =
        compositeId === undefined ? "no contract is given" : `the workspace has no contract ${compositeId}`;
      finding("unknown-contract", problem);
      return createJsonPassthrough(200, {});
    }
    const author = { by: { name: comment.author }, id: workspace.acting_user_id };
    addComment(tx, context, contract, comment.text.slice(0, maxCommentLength), author);
    const text = `Comment added to ${compositeId}.`;
    return createJsonPassthrough(200, app === "chat_a" ? { text } : { type: "message", text });
  });
};

/** Maximum length of a message in chat_a, which needs no sign-in. */
const maxCommentLength = 40_000;

/** Forms send the payload in a field. The body of an event is the payload itself. */
const parsePayload = (request: ReceivedRequest) =>
  parseJsonObject(isFormType(request.headers["content-type"]) ? readFormFields(request).payload : request.body);

type Payload = Readonly<Record<string, unknown>>;

/** Returns the strings at the given paths that exist. */
const listStrings = (value: unknown, ...paths: readonly (readonly string[])[]): string[] =>
  paths.map((path) => findString(value, ...path)).filter((text) => text !== undefined);

const listTeams = (payload: Payload): string[] =>
  listStrings(payload, ["team_id"], ["team", "id"], ["enterprise", "id"]);

const listTenants = (activity: Payload): string[] =>
  listStrings(activity, ["channelData", "tenant", "id"], ["conversation", "tenantId"]);

function parseChatAComment(payload: Payload): ChatComment | undefined {
  const { event } = payload;
  if (isObject(event)) {
    const text = findString(event, "text");
    // Two bots that reply to each other would never stop.
    if (text === undefined || findString(event, "bot_id") !== undefined) return undefined;
    return { author: findString(event, "user") ?? "chat_a", text, references: [text], isAboutContract: false };
  }
  const action = Array.isArray(payload.actions) ? payload.actions[0] : undefined;
  const author = findString(payload, "user", "name") ?? findString(payload, "user", "id") ?? "chat_a";
  const actionName =
    findString(action, "text", "text") ?? findString(action, "action_id") ?? findString(payload, "type") ?? "";
  return {
    author,
    text: findInput(payload) ?? `${author}: ${actionName}`,
    references: [
      ...listStrings(action, ["value"], ["selected_option", "value"]),
      ...listStrings(payload, ["view", "private_metadata"], ["callback_id"], ["message", "text"]),
    ],
    isAboutContract: true,
  };
}

/** Returns the input of a chat_a form, which is at `state.values.<block>.<action>.value`. */
function findInput(payload: Payload): string | undefined {
  const values = findObject(payload, "view", "state", "values") ?? findObject(payload, "state", "values");
  const inputs = Object.values(values ?? {}).flatMap((block) => (isObject(block) ? Object.values(block) : []));
  return inputs.map((input) => findString(input, "value")).find((text) => text !== undefined);
}

function findObject(payload: Payload, ...path: readonly string[]): Payload | undefined {
  const value = getValueAt(payload, path);
  return isObject(value) ? value : undefined;
}

function parseChatBComment(activity: Payload): ChatComment | undefined {
  const author = findString(activity, "from", "name") ?? findString(activity, "from", "id") ?? "chat_b";
  const type = findString(activity, "type");
  const text = findString(activity, "text");
  if (type === "message" && text !== undefined) return { author, text, references: [text], isAboutContract: false };
  const data = findObject(activity, "value", "action", "data") ?? findObject(activity, "value");
  if (!data) return undefined;
  const verb = findString(activity, "value", "action", "verb") ?? findString(activity, "name") ?? "pressed";
  const references = listStrings(data, ["contract_id"], ...Object.keys(data).map((name) => [name]));
  return { author, text: findString(data, "comment") ?? `${author}: ${verb}`, references, isAboutContract: true };
}

const createWorkspaceFinder =
  (teams: readonly string[], { cluster }: ClusterContext) =>
  (view: View, finding: FindingReporter): Workspace | undefined => {
    const clusterWorkspaces = view.list(workspaces, { by: "cluster", equals: cluster.id });
    const workspace = clusterWorkspaces.find(({ chat_a_teams, chat_b_tenants }) =>
      teams.some((team) => [...chat_a_teams, ...chat_b_tenants].includes(team)),
    );
    if (!workspace)
      finding("unknown-workspace", `no workspace of ${cluster.id} has ${teams[0] ?? "a team without ID"}`);
    return workspace;
  };

function findContract(view: View, { id }: Workspace, compositeId: string): Contract | undefined {
  const row = view.get(contracts, Number(compositeId.slice(2)));
  const isFound = row?.workspace_id === id && row.deleted_at === null && formatCompositeId(row) === compositeId;
  return isFound ? row : undefined;
}

/** Limits of chat_a: the number of options in a menu, and the length of their names. */
const maxOptions = 100;
const maxOptionLength = 75;

function listOptions(view: View, payload: Payload, { id }: Workspace) {
  const query = (findString(payload, "value") ?? "").toLowerCase();
  const all = view.list(contracts, { ...selectContractsOfWorkspace(id), reverse: true });
  const matches = all.filter((row) => `${formatCompositeId(row)} ${row.name}`.toLowerCase().includes(query));
  return matches
    .slice(0, maxOptions)
    .map((row) => ({
      text: { type: "plain_text", text: `${formatCompositeId(row)} ${row.name}`.slice(0, maxOptionLength) },
      value: formatCompositeId(row),
    }));
}

/** Suspension of the workspace by event type. Other events carry the status in their subscription. */
const suspensionByEvent = lookupTable<boolean>({
  subscription_paused: true,
  subscription_cancelled: true,
  subscription_created: false,
  subscription_activated: false,
  subscription_resumed: false,
  subscription_reactivated: false,
  subscription_renewed: false,
});

/** Changes the plan or the suspension of the named workspace (DECISIONS.md, R32). */
export const acceptBillingEvent: ForwardedHandler = async ({ body }, { store, cluster }, finding) => {
  const event = parseJsonObject(body);
  const prefix = `${cluster.id}_`;
  const customer = [...findCustomerIds(event)].find((id) => id.startsWith(prefix) && id.length > prefix.length);
  const number = Number(customer?.slice(prefix.length));
  const occurredAt = Number(findString(event, "occurred_at") ?? Number.NaN) * 1_000;
  await store.transaction("billing.event", (tx) => {
    const workspace = Number.isSafeInteger(number) ? tx.get(workspaces, number) : undefined;
    if (workspace?.cluster_id !== cluster.id)
      return finding("unknown-workspace", `${cluster.id} has no workspace for the customer ${customer}`);
    const { billed_at } = workspace;
    if (billed_at !== null && occurredAt < billed_at)
      return finding("late-billing-event", "A later event of the workspace arrived first");
    const plan = parsePlan(event) ?? workspace.plan;
    const is_suspended = isSuspendedBy(event) ?? workspace.is_suspended;
    tx.put(workspaces, {
      ...workspace,
      plan,
      is_suspended,
      billed_at: Number.isNaN(occurredAt) ? billed_at : occurredAt,
    });
  });
  return createJsonPassthrough(200, {});
};

const parsePlan = (event: unknown): string | undefined =>
  findString(event, "content", "subscription", "plan_id") ??
  findString(event, "content", "subscription", "subscription_items", "0", "item_price_id");

function isSuspendedBy(event: unknown): boolean | undefined {
  const status = findString(event, "content", "subscription", "status");
  if (status !== undefined) return status === "paused" || status === "cancelled";
  return suspensionByEvent[findString(event, "event_type") ?? ""];
}
