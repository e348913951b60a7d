import { registry } from "../../src/api/registry.ts";
import { forwardedTo } from "../cluster/forwarded/forwarded.ts";
import type { Inbox } from "../cluster/forwarded/inbox.ts";
import { contractApiHandlers, storageHandlers } from "../cluster/handlers.ts";
import { apiKeyAuthenticator } from "../cluster/workspace/credentials.ts";
import type { ClusterWorld } from "../cluster/world.ts";
import type { Served } from "../http/listener.ts";
import { part } from "../http/parts.ts";

const of = (service: "contracts" | "storage") => registry.filter((operation) => operation.service.name === service);

/** What a cluster's listener serves: the contract API, the signed storage, and what the router forwards. */
export const clusterParts = (world: ClusterWorld, inbox: Inbox): Pick<Served, "parts" | "fallback"> => ({
  parts: [
    part({
      operations: of("contracts"),
      handlers: contractApiHandlers,
      authenticate: { "api-key": apiKeyAuthenticator(world) },
      world,
    }),
    part({ operations: of("storage"), handlers: storageHandlers, world }),
  ],
  fallback: forwardedTo(world, inbox),
});
