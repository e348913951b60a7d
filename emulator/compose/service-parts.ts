import { registry } from "../../src/api/registry.ts";
import type { ClusterContext } from "../cluster/context.ts";
import { contractApiHandlers } from "../cluster/handlers.ts";
import { createForwardedHandler, type RequestInbox } from "../cluster/inbox.ts";
import { storageHandlers } from "../cluster/storage/storage.ts";
import { createApiKeyAuthenticator } from "../cluster/workspace/credentials.ts";
import { createAuthenticators } from "../control/access/credentials.ts";
import { guardHandlers } from "../control/access/guard-handlers.ts";
import type { ControlContext } from "../control/context.ts";
import { controlHandlers } from "../control/handlers.ts";
import type { Cluster } from "../domain/clusters.ts";
import { getFirstWorkspace } from "../domain/workspaces.ts";
import { createPart, type ListenerPart, type PartHandler } from "../http/handler.ts";
import type { ServedParts } from "../http/listener.ts";
import { isProbe } from "../http/routing/operation-table.ts";
import type { RunningCluster } from "../published.d.ts";
import { type RouterContext, routerAuthenticators } from "../router/context.ts";
import { routerHandlers } from "../router/handlers.ts";
import type { Store } from "../store/port.ts";

const listOperations = <Name extends string>(service: Name) =>
  registry.filter((operation) => operation.service.name === service);

/** Routes of a cluster's listener: the contract API, the signed storage, and requests that the router forwards. */
export const createClusterParts = (
  context: ClusterContext,
  inbox: RequestInbox,
): Pick<ServedParts, "parts" | "fallback"> => ({
  parts: [
    createPart({
      operations: listOperations("contracts"),
      handlers: contractApiHandlers,
      authenticate: { "api-key": createApiKeyAuthenticator(context) },
      context,
    }),
    createPart({ operations: listOperations("storage"), handlers: storageHandlers, context }),
  ],
  fallback: createForwardedHandler(context, inbox),
});

/** Returns the data of a cluster for programs: its addresses and credentials. */
export function toRunningCluster(store: Store, { id, internalUrl, key, external }: Cluster): RunningCluster {
  const workspace = getFirstWorkspace(store, id);
  return {
    id,
    url: internalUrl,
    clusterKey: key,
    external,
    clientId: workspace?.client_id,
    clientSecret: workspace?.client_secret,
    hmacKey: workspace?.hmac_key,
  };
}

const guardedControlHandlers = guardHandlers(controlHandlers);

/** Routes of the router's listener: the routing service, and the control plane (DECISIONS.md, E2). */
export const createRouterParts = (
  contexts: { readonly router: RouterContext; readonly control: ControlContext },
  token: string,
): readonly [ListenerPart, ListenerPart] => [
  createPart({
    operations: listOperations("router"),
    handlers: routerHandlers,
    authenticate: routerAuthenticators,
    context: contexts.router,
  }),
  createPart({
    operations: listOperations("emulator"),
    handlers: guardedControlHandlers,
    authenticate: createAuthenticators({ token, tokens: contexts.control.tokens, sessions: contexts.control.sessions }),
    context: contexts.control,
  }),
];

/** Serves the probes of a process that does not serve the state. */
export const createProbePart = (
  handlers: Readonly<Record<"emulator.ready" | "emulator.live", PartHandler<object>>>,
): ListenerPart => createPart({ operations: registry.filter(isProbe), handlers, context: {} });
