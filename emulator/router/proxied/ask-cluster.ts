import type { Wall } from "../../../src/base/clock.ts";
import { late, within } from "../../../src/base/within.ts";
import { jsonObject } from "../../http/bodies/fields.ts";
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
  | { readonly kind: "unreachable"; readonly reason: string }
  | { readonly kind: "late" };

/** What a question to a cluster is sent with. */
export interface AskContext {
  readonly forwarder: Forwarder;
  readonly wall: Wall;
  readonly settings: Pick<Settings, "upstreamTimeoutMs" | "publicUrl">;
}

/** More than any answer of an identity route needs; the rest of a longer one is not read. */
const maxAnswerBytes = 1024 * 1024;

/** Sends a request to one cluster and reads its answer whole, in the time that a forwarded request may take. */
export async function askCluster(
  { forwarder, wall, settings }: AskContext,
  { url }: Pick<Cluster, "url">,
  request: Forwardable,
): Promise<ClusterReply> {
  const gaveUp = new AbortController();
  const asking = ask();
  const reply = await within(wall, settings.upstreamTimeoutMs, asking);
  if (reply !== late) return reply;
  gaveUp.abort(new Error("Nobody waits for the answer any more"));
  return { kind: "late" };

  async function ask(): Promise<ClusterReply> {
    // The answer is read here, so it must not be compressed for the caller.
    const sent = await forwarder.send(url, without("accept-encoding", request), gaveUp.signal);
    if (sent.kind === "unreachable") return sent;
    const { status, rawHeaders, body } = sent.answer;
    try {
      const chunks: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of body instanceof Uint8Array ? [body] : body) {
        chunks.push(chunk);
        size += chunk.length;
        if (size > maxAnswerBytes) return { kind: "unreachable", reason: "the answer is too long" };
      }
      const bytes = Buffer.concat(chunks);
      return { kind: "answered", status, body: jsonObject(bytes), whole: new Passthrough(status, rawHeaders, bytes) };
    } catch {
      return { kind: "unreachable", reason: "the answer broke off" };
    }
  }
}

/** The same request to another path. */
export const withTarget = (request: Forwardable, target: string): Forwardable => ({ ...partsOf(request), target });

function without(name: string, request: Forwardable): Forwardable {
  const rawHeaders = request.rawHeaders.filter((_, i, all) => all[i - (i % 2)]!.toLowerCase() !== name);
  return { ...partsOf(request), rawHeaders };
}

/** A received request has getters, which spreading passes over. */
function partsOf({ method, target, rawHeaders, body, remoteAddress, origin }: Forwardable): Forwardable {
  return { method, target, rawHeaders, body, remoteAddress, origin };
}
