import { formatHiddenValue } from "../../src/api/control-plane.ts";
import type { Liveness, Readiness } from "../../src/api/emulator/lifecycle.ts";
import * as declarations from "../../src/api/registry.ts";
import { addObservations, buildOpenApi, type DocumentedService, type Server } from "../../src/derive/openapi.ts";
import type { Cluster } from "../domain/clusters.ts";
import { getFirstWorkspace } from "../domain/workspaces.ts";
import type { BufferUsage } from "../http/byte-bounded-log.ts";
import type { ReceivedRequest } from "../http/handler.ts";
import { reply } from "../http/reply.ts";
import { isDirectLoopbackRequest } from "../http/trusted-proxies.ts";
import type { ControlHandlers } from "./context.ts";

export const lifecycleHandlers = {
  "emulator.ready": (_, { instance, store }) => {
    if (!instance.isAssured())
      return reply(503, {
        ...instance.getReadiness(),
        why: "The database does not confirm that this process leads; another process may lead",
      });
    return store.writable
      ? reply(200, instance.getReadiness())
      : reply(503, { ...instance.getReadiness(), why: "The state cannot be written; reads continue" });
  },

  "emulator.live": (_, { instance, request }) => describeProcess(instance.getReadiness(), instance.process, request),

  "emulator.usage": (_, { requestLog, inboxes, feed, spans }) => ({
    requests: requestLog.amount,
    inboxes: sumUsage([...inboxes.values()].map(({ amount }) => amount)),
    events: feed.amount,
    spans: spans?.amount ?? null,
  }),

  "emulator.stop": (_, { instance }) => {
    instance.stop();
    return undefined;
  },

  // `/docs` and `/openapi.json` have no special meaning (DECISIONS.md, R17).
  "emulator.openapi": ({ params }, { clusters, request, observedClaims }) => {
    const name = params.document.replace(/\.json$/, "") as DocumentedService;
    const declaredDocument = buildDocument(name);
    const document = observedClaims ? addObservations(declaredDocument, observedClaims) : declaredDocument;
    return { openapi: "3.1.0", ...document, servers: listServers(name, clusters, request.origin) };
  },

  "emulator.clusters": (_, { store, clusters, caller }) =>
    clusters.map(({ id, label, url, internalUrl, external, key }) => {
      const workspace = getFirstWorkspace(store, id);
      return {
        id,
        label,
        url,
        own_url: internalUrl,
        external,
        // The key can remove a cluster, which also removes the routing data of all its workspaces.
        cluster_key: caller.token.workspace === undefined ? key : formatHiddenValue("a token without a workspace"),
        client_id: workspace?.client_id ?? null,
        client_secret: workspace?.client_secret ?? null,
        hmac_key: workspace?.hmac_key ?? null,
      };
    }),
} satisfies ControlHandlers;

export const describeProcess = (
  readiness: Readiness,
  process: NonNullable<Liveness["process"]>,
  request: ReceivedRequest,
): Liveness => ({
  ...readiness,
  // A proxy can forward a request without any forwarding header.
  ...(readiness.public_url === undefined && isDirectLoopbackRequest(request) && { process }),
});

function sumUsage(amounts: readonly BufferUsage[]): BufferUsage {
  const sum = (field: keyof BufferUsage) => amounts.reduce((total, amount) => total + amount[field], 0);
  return { count: sum("count"), bytes: sum("bytes"), max_bytes: sum("max_bytes"), dropped: sum("dropped") };
}

const documents = new Map<DocumentedService, ReturnType<typeof buildOpenApi>>();

/** Returns the cached document, because building it is slow and unauthenticated clients can request it at any rate. */
function buildDocument(name: DocumentedService): ReturnType<typeof buildOpenApi> {
  const document = documents.get(name) ?? buildOpenApi(name, declarations);
  documents.set(name, document);
  return document;
}

/** Returns the address of the service under the host name that the client uses, possibly with another port. */
function listServers(name: DocumentedService, clusters: readonly Cluster[], origin: string): readonly Server[] {
  if (name !== "contracts") return [{ url: origin, description: "This emulator" }];
  return clusters.map(({ id, url, internalUrl, external }) => ({
    url: external || url !== internalUrl ? url : replaceHost(origin, url),
    description: `Cluster ${id}${external ? " (external)" : ""}`,
  }));
}

function replaceHost(origin: string, url: string): string {
  const address = new URL(url);
  address.hostname = new URL(origin).hostname;
  return address.origin;
}
