import { ask } from "../../http/outgoing/ask.ts";
import type { Forwarder } from "../../http/outgoing/forward.ts";
import type { Cause } from "../../store/cause.ts";

/** Who speaks, and why. */
export interface Speaker {
  readonly cluster_id: string;
  /** With which the cluster speaks to the router. */
  readonly key: string;
  readonly cause: Cause | undefined;
  /** Aborted once nothing may be said any more: the emulator closes, or what is told of is in a state that was left. */
  readonly signal: AbortSignal;
}

/** How a cluster speaks to the router: over HTTP, with its key. */
export interface RouterLine {
  ask(speaker: Speaker, ...call: Parameters<Ask>): ReturnType<Ask>;
}

/** One call to the router; resolves with the status of the answer, undefined when none came in time. */
export type Ask = (method: "GET" | "POST" | "DELETE", path: string, body?: unknown) => Promise<number | undefined>;

interface LineOptions {
  readonly forwarder: Forwarder;
  readonly timeoutMs: number;
  /** Where the router listens, once it takes requests. */
  readonly routerUrl: Promise<string>;
}

export const routerLine = ({ forwarder, timeoutMs, routerUrl }: LineOptions): RouterLine => ({
  async ask({ key, cause, signal }, method, target, content) {
    const origin = await routerUrl;
    if (signal.aborted) return undefined;
    const rawHeaders = ["content-type", "application/json", "x-cluster-key", key];
    const body = Buffer.from(content === undefined ? "" : JSON.stringify(content));
    const request = { method, target, rawHeaders, body, remoteAddress: "127.0.0.1", origin, cause };
    const result = await ask({ forwarder, timeoutMs }, origin, request);
    return result.kind === "answered" ? result.status : undefined;
  },
});
