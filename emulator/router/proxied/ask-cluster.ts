import type { Wall } from "../../../src/base/clock.ts";
import { jsonObject } from "../../http/bodies/fields.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import { type Forwardable, type Forwarder, withoutHeaders } from "../../http/outgoing/forward.ts";
import { type AskResult, ask } from "../../http/outgoing/outgoing.ts";
import { Passthrough } from "../../http/reply.ts";
import type { Cluster } from "../../world/clusters.ts";
import type { Settings } from "../../world/settings.ts";

/** What a cluster said to a question of the router's own; `body` is undefined when `whole` is no JSON object. */
export type ClusterReply =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly body: Readonly<Record<string, unknown>> | undefined;
      readonly whole: Passthrough;
    }
  | Exclude<AskResult, { kind: "answered" }>;

/** What a question to a cluster is sent with. */
export interface AskContext {
  readonly forwarder: Forwarder;
  readonly wall: Wall;
  readonly settings: Pick<Settings, "upstreamTimeoutMs" | "publicUrl">;
  /** Of the caller for whom it is asked: nothing is once they have left. */
  readonly request?: Pick<ReceivedRequest, "whenGone">;
}

/** More than any answer of an identity route needs; the rest of a longer one is not read. */
const maxAnswerBytes = 1024 * 1024;

/** Asks one cluster, in the time that a forwarded request may take, or `timeoutMs`. */
export async function askCluster(
  { forwarder, settings, request: asking }: AskContext,
  { url }: Pick<Cluster, "url">,
  request: Forwardable,
  timeoutMs: number = settings.upstreamTimeoutMs,
): Promise<ClusterReply> {
  const whenGone = asking && ((tell: () => void) => asking.whenGone(tell));
  const options = { forwarder, timeoutMs, maxBytes: maxAnswerBytes, whenGone };
  // The answer is read here, so it must not be compressed for the caller.
  const result = await ask(options, url, withoutHeaders(request, ["accept-encoding"]));
  if (result.kind !== "answered") return result;
  const { kind, status, rawHeaders, body } = result;
  return { kind, status, body: jsonObject(body), whole: new Passthrough(status, rawHeaders, body) };
}
