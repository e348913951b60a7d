import { registry } from "../../src/api/registry.ts";
import type { ClusterWorld } from "../cluster/context.ts";
import { forwardedTo } from "../cluster/forwarded/forwarded.ts";
import type { Inbox } from "../cluster/forwarded/inbox.ts";
import { contractApiHandlers, storageHandlers } from "../cluster/handlers.ts";
import { apiKeyAuthenticator } from "../cluster/workspace/credentials.ts";
import { buildListener, type Listener } from "../http/listener.ts";
import { part } from "../http/parts.ts";
import type { ListenerDuties } from "./listener-duties.ts";

const of = (service: "contracts" | "storage") => registry.filter((operation) => operation.service.name === service);

/** A cluster's listener: the contract API, the signed storage, and the cluster side of what the router forwards. */
export const clusterListener = (world: ClusterWorld, inbox: Inbox, duties: ListenerDuties): Promise<Listener> =>
  buildListener({
    ...duties,
    name: world.cluster.id,
    fallback: forwardedTo(world, inbox),
    parts: [
      part({
        operations: of("contracts"),
        handlers: contractApiHandlers,
        authenticate: { "api-key": apiKeyAuthenticator(world) },
        world,
      }),
      part({ operations: of("storage"), handlers: storageHandlers, world }),
    ],
  });
