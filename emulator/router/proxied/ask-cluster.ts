import type { Wall } from "../../../src/base/clock.ts";
import { jsonObject } from "../../http/bodies/fields.ts";
import { type AskResult, ask } from "../../http/outgoing/ask.ts";
import type { Forwardable, Forwarder } from "../../http/outgoing/forward.ts";
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
}

/** More than any answer of an identity route needs; the rest of a longer one is not read. */
const maxAnswerBytes = 1024 * 1024;

/** Asks one cluster, in the time that a forwarded request may take. */
export async function askCluster(
  { forwarder, settings }: AskContext,
  { url }: Pick<Cluster, "url">,
  request: Forwardable,
): Promise<ClusterReply> {
  const options = { forwarder, timeoutMs: settings.upstreamTimeoutMs, maxBytes: maxAnswerBytes };
  // The answer is read here, so it must not be compressed for the caller.
  const result = await ask(options, url, without("accept-encoding", request));
  if (result.kind !== "answered") return result;
  const { kind, status, rawHeaders, body } = result;
  return { kind, status, body: jsonObject(body), whole: new Passthrough(status, rawHeaders, body) };
}

/** The same request to another path. */
export const withTarget = (request: Forwardable, target: string): Forwardable => ({ ...partsOf(request), target });

function without(name: string, request: Forwardable): Forwardable {
  const rawHeaders = request.rawHeaders.filter((_, i, all) => all[i - (i % 2)]!.toLowerCase() !== name);
  return { ...partsOf(request), rawHeaders };
}

/** A received request has getters, which spreading passes over. */
function partsOf({ method, target, rawHeaders, body, remoteAddress, origin, cause }: Forwardable): Forwardable {
  return { method, target, rawHeaders, body, remoteAddress, origin, cause };
}
