import type { WallClock } from "../../../src/base/clock.ts";
import type { Cluster } from "../../domain/clusters.ts";
import type { Settings } from "../../domain/settings.ts";
import { parseJsonObject } from "../../http/bodies/fields.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import { type ForwardableRequest, type Forwarder, withoutHeaders } from "../../http/outgoing/forward.ts";
import { type SendRequestResult, sendRequest } from "../../http/outgoing/webhook-sender.ts";
import { Passthrough } from "../../http/reply.ts";

/** A cluster's response to a request of the router itself; `body` is undefined if it is not a JSON object. */
export type ClusterResponse =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly body: Readonly<Record<string, unknown>> | undefined;
      readonly passthrough: Passthrough;
    }
  | Exclude<SendRequestResult, { kind: "answered" }>;

export interface ClusterRequestContext {
  readonly forwarder: Forwarder;
  readonly wall: WallClock;
  readonly settings: Pick<Settings, "upstreamTimeoutMs" | "publicUrl">;
  /** Signal of the client: no request is sent after it has disconnected. */
  readonly request?: Pick<ReceivedRequest, "onDisconnect">;
}

/** More than any response of an identity route needs. The rest of a longer one is not read. */
const maxAnswerBytes = 1024 * 1024;

/** Sends a request to one cluster, with the timeout of forwarded requests, or `timeoutMs`. */
export async function requestCluster(
  { forwarder, settings, request: clientRequest }: ClusterRequestContext,
  { url }: Pick<Cluster, "url">,
  request: ForwardableRequest,
  timeoutMs: number = settings.upstreamTimeoutMs,
): Promise<ClusterResponse> {
  const onDisconnect = clientRequest && ((listener: () => void) => clientRequest.onDisconnect(listener));
  const options = { forwarder, timeoutMs, maxBytes: maxAnswerBytes, onDisconnect };
  // The response is read here, so it must not be compressed for the client.
  const result = await sendRequest(options, url, withoutHeaders(request, ["accept-encoding"]));
  if (result.kind !== "answered") return result;
  const { kind, status, rawHeaders, body } = result;
  return { kind, status, body: parseJsonObject(body), passthrough: new Passthrough(status, rawHeaders, body) };
}
