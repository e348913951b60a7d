import { registry } from "../../src/api/registry.ts";
import { forwardedTo, type Inbox } from "../cluster/forwarded/forwarded.ts";

import { contractApiHandlers, storageHandlers } from "../cluster/handlers.ts";
import { apiKeyAuthenticator } from "../cluster/workspace/credentials.ts";
import type { ClusterWorld } from "../cluster/world.ts";
import type { Served } from "../http/listener.ts";
import { part } from "../http/parts.ts";
import type { Store } from "../store/port.ts";
import type { Cluster } from "../world/clusters.ts";
import { firstWorkspace } from "../world/workspaces.ts";

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

/** A cluster of a running emulator, with the API key of its first workspace. */
export interface RunningCluster {
  readonly id: string;
  /** Origin of its listener: the base URL of the contract API. */
  readonly url: string;
  readonly clusterKey: string;
  readonly external: boolean;
  /** Undefined where the cluster has no workspace. */
  readonly clientId: string | undefined;
  readonly clientSecret: string | undefined;
  readonly hmacKey: string | undefined;
}

/** A cluster as a program is told of it. */
export async function withKey(store: Store, { id, reachedAt, key, external }: Cluster): Promise<RunningCluster> {
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
