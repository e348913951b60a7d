import { textAt } from "../../http/bodies/fields.ts";
import { forwardToOne } from "../proxied/forward.ts";
import { clusterOfPrefix } from "../resolve/named-cluster.ts";
import type { RouterHandlers } from "../world.ts";

/** Events carry the customer in one of three places, by their type (DECISIONS.md, P15). */
const places = [
  ["content", "customer", "id"],
  ["content", "subscription", "customer_id"],
  ["content", "invoice", "customer_id"],
];

export const billingHandlers = {
  "billing.event": ({ body }, call) => {
    const customer = places.map((path) => textAt(body, ...path)).find((id) => id !== undefined);
    const underscore = customer?.lastIndexOf("_") ?? -1;
    if (customer === undefined || underscore < 1) return call.fail("no-customer-id");
    const owner =
      clusterOfPrefix(call.clusters, customer) ??
      call.fail("unknown-cluster", { cluster: customer.slice(0, underscore) });
    return forwardToOne(call, owner);
  },
} satisfies RouterHandlers;
