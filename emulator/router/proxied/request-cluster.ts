import type { Cluster } from "../../domain/clusters.ts";
import { parseJsonObject } from "../../http/bodies/fields.ts";
import {
  type ForwardableRequest,
  omitHeaders,
  type SendRequestResult,
  sendRequest,
} from "../../http/outgoing/forward.ts";
import { Passthrough } from "../../http/reply.ts";
import type { RouterCall } from "../context.ts";

/** Response of a cluster to a request of the router itself. `body` is undefined if it is not a JSON object. */
export type ClusterResponse =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly body: Readonly<Record<string, unknown>> | undefined;
      readonly passthrough: Passthrough;
    }
  | Exclude<SendRequestResult, { kind: "answered" }>;

/** Maximum size of a response. Responses of identity routes are shorter. A longer response is not read to its end. */
const maxResponseBytes = 1024 * 1024;

/**
 * Sends a request to one cluster. The default of `timeoutMs` is the timeout of forwarded requests. No request is sent
 * after the disconnect of the client.
 */
export async function requestCluster(
  { forwarder, settings, request: clientRequest }: RouterCall,
  { internalUrl }: Cluster,
  request: ForwardableRequest,
  timeoutMs: number = settings.upstreamTimeoutMs,
): Promise<ClusterResponse> {
  const onDisconnect = (listener: () => void) => clientRequest.onDisconnect(listener);
  const options = { forwarder, timeoutMs, maxBytes: maxResponseBytes, onDisconnect };
  // The response is read here, so it must not be compressed.
  const result = await sendRequest(options, internalUrl, omitHeaders(request, ["accept-encoding"]));
  if (result.kind !== "answered") return result;
  const { kind, status, rawHeaders, body } = result;
  return { kind, status, body: parseJsonObject(body), passthrough: new Passthrough(status, rawHeaders, body) };
}
