import { findCustomerIds } from "../../domain/apps.ts";
import type { RouterHandlers } from "../context.ts";
import { forwardToOne } from "../proxied/forward.ts";
import { findClusterByPrefix } from "../resolve.ts";

/**
 * Returns whether a string is `{cluster_id}_{workspace_id}`, in which both IDs can contain underscores (DECISIONS.md,
 * P6). An underscore at the end belongs to no workspace: `eu_west_` must not be workspace `west_` of `eu`.
 */
const isCustomerId = (id: string): boolean => id.includes("_", 1) && !id.endsWith("_");

export const billingHandlers = {
  "billing.event": ({ body }, call) => {
    const customers = [...findCustomerIds(body)].filter(isCustomerId);
    const [firstCustomer] = customers;
    if (firstCustomer === undefined) return call.fail("no-customer-id");
    const [owner] = customers.flatMap((id) => findClusterByPrefix(call.clusters, id) ?? []);
    return owner
      ? forwardToOne(call, owner)
      : call.fail("unknown-cluster", { cluster: firstCustomer.slice(0, firstCustomer.lastIndexOf("_")) });
  },
} satisfies RouterHandlers;
