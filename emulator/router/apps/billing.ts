import { findCustomerIds } from "../../domain/apps.ts";
import type { RouterHandlers } from "../context.ts";
import { forwardToOne } from "../proxied/forward.ts";
import { findClusterByPrefix } from "../resolve.ts";

/** Matches `{cluster_id}_{workspace_id}`, in which both IDs can contain underscores (DECISIONS.md, P6). */
const customerIdPattern = /^.+_.+$/s;

export const billingHandlers = {
  "billing.event": ({ body }, call) => {
    const customers = [...findCustomerIds(body)].filter((id) => customerIdPattern.test(id));
    const [firstCustomer] = customers;
    if (firstCustomer === undefined) return call.fail("no-customer-id");
    const [owner] = customers.flatMap((id) => findClusterByPrefix(call.clusters, id) ?? []);
    return owner
      ? forwardToOne(call, owner)
      : call.fail("unknown-cluster", { cluster: firstCustomer.slice(0, firstCustomer.lastIndexOf("_")) });
  },
} satisfies RouterHandlers;
