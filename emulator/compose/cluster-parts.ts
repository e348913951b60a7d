import { registry } from "../../src/api/registry.ts";
import type { ClusterContext } from "../cluster/context.ts";
import { createForwardedHandler, type Inbox } from "../cluster/forwarded/inbox.ts";
import { contractApiHandlers, storageHandlers } from "../cluster/handlers.ts";
import { apiKeyAuthenticator } from "../cluster/workspace/credentials.ts";
import type { ServedParts } from "../http/listener.ts";
import { createPart } from "../http/parts.ts";
import type { RunningCluster } from "../published.d.ts";
import type { Store } from "../store/port.ts";
import type { Cluster } from "../world/clusters.ts";
import { firstWorkspace } from "../world/workspaces.ts";

const of = (service: "contracts" | "storage") => registry.filter((operation) => operation.service.name === service);

/** What a cluster's listener serves: the contract API, the signed storage, and what the router forwards. */
export const clusterParts = (world: ClusterContext, inbox: Inbox): Pick<ServedParts, "parts" | "fallback"> => ({
  parts: [
    createPart({
      operations: of("contracts"),
      handlers: contractApiHandlers,
      authenticate: { "api-key": apiKeyAuthenticator(world) },
      world,
    }),
    createPart({ operations: of("storage"), handlers: storageHandlers, world }),
  ],
  fallback: createForwardedHandler(world, inbox),
});

/** A cluster as a program is told of it. */
export async function toRunningCluster(
  store: Store,
  { id, reachedAt, key, external }: Cluster,
): Promise<RunningCluster> {
  const first = await store.read((view) => firstWorkspace(view, id));
  return {
    id,
    url: reachedAt,
    clusterKey: key,
    external,
    clientId: first?.client_id,
    clientSecret: first?.client_secret,
    hmacKey: first?.hmac_key,
  };
}
