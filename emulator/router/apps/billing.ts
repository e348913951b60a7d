import { customerIdsIn } from "../../world/customer-ids.ts";
import { forwardToOne } from "../proxied/forward.ts";
import { clusterOfPrefix } from "../resolve/named-cluster.ts";
import type { RouterHandlers } from "../world.ts";

/** `{cluster_id}_{workspace_id}`, either of which may hold underscores (DECISIONS.md, P6). */
const customerId = /^.+_.+$/s;

export const billingHandlers = {
  "billing.event": ({ body }, call) => {
    const customers = [...customerIdsIn(body)].filter((id) => customerId.test(id));
    const [first] = customers;
    if (first === undefined) return call.fail("no-customer-id");
    const [owner] = customers.flatMap((id) => clusterOfPrefix(call.clusters, id) ?? []);
    return owner
      ? forwardToOne(call, owner)
      : call.fail("unknown-cluster", { cluster: first.slice(0, first.lastIndexOf("_")) });
  },
} satisfies RouterHandlers;
