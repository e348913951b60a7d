import { lookupTable } from "../../../src/base/lookup-table.ts";
import { parseJsonObject, stringAt } from "../../http/bodies/fields.ts";
import type { ReceivedRequest, ReportFinding } from "../../http/handler.ts";
import type { Passthrough } from "../../http/reply.ts";
import { findCustomerIds } from "../../world/provider.ts";
import { workspaces } from "../../world/workspaces.ts";
import type { ClusterContext } from "../context.ts";
import { createJsonResponse } from "../response.ts";

/** Whether a workspace is suspended after an event, by its type; an event that holds the subscription says it itself. */
const suspendedBy = lookupTable<boolean>({
  subscription_paused: true,
  subscription_cancelled: true,
  subscription_created: false,
  subscription_activated: false,
  subscription_resumed: false,
  subscription_reactivated: false,
  subscription_renewed: false,
});

/** Takes an event of the billing provider: the plan of the workspace that it names, and its suspension (DECISIONS.md, R32). */
export async function acceptBillingEvent(
  { body }: ReceivedRequest,
  { store, cluster }: ClusterContext,
  finding: ReportFinding,
): Promise<Passthrough> {
  const event = parseJsonObject(body);
  const prefix = `${cluster.id}_`;
  const customer = [...findCustomerIds(event)].find((id) => id.startsWith(prefix) && id.length > prefix.length);
  const number = Number(customer?.slice(prefix.length));
  const at = Number(stringAt(event, "occurred_at") ?? Number.NaN) * 1_000;
  const problem = await store.transaction("billing.event", async (tx) => {
    const workspace = Number.isSafeInteger(number) ? await tx.get(workspaces, number) : undefined;
    if (workspace?.cluster_id !== cluster.id) return "unknown-workspace";
    const { billed_at } = workspace;
    if (billed_at !== null && at < billed_at) return "late-billing-event";
    const plan = planOf(event) ?? workspace.plan;
    const is_suspended = isSuspendedBy(event) ?? workspace.is_suspended;
    tx.put(workspaces, { ...workspace, plan, is_suspended, billed_at: Number.isNaN(at) ? billed_at : at });
    return undefined;
  });
  if (problem === "unknown-workspace") finding(problem, `${cluster.id} has no workspace for the customer ${customer}`);
  if (problem === "late-billing-event") finding(problem, "A later event of the workspace arrived first");
  return createJsonResponse(200, {});
}

/** The plan, or the first item, of the subscription. */
const planOf = (event: unknown): string | undefined =>
  stringAt(event, "content", "subscription", "plan_id") ??
  stringAt(event, "content", "subscription", "subscription_items", "0", "item_price_id");

/** Undefined: the event says nothing about it. */
function isSuspendedBy(event: unknown): boolean | undefined {
  const status = stringAt(event, "content", "subscription", "status");
  if (status !== undefined) return status === "paused" || status === "cancelled";
  return suspendedBy[stringAt(event, "event_type") ?? ""];
}
