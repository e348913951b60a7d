import type { Wall } from "../../../src/base/clock.ts";
import { late, within } from "../../../src/base/within.ts";
import type { Forwarder } from "../../http/outgoing/forward.ts";

/** How a cluster speaks to the router: over HTTP, with its key. */
export interface RouterLine {
  /** Resolves with the status of the answer and its JSON; undefined when none came in time. */
  ask(key: string, ...call: Parameters<Ask>): ReturnType<Ask>;
}

/** One call to the router. */
export type Ask = (
  method: "GET" | "POST" | "DELETE",
  path: string,
  body?: unknown,
) => Promise<RouterAnswer | undefined>;

export interface RouterAnswer {
  readonly status: number;
  readonly body: unknown;
}

interface LineOptions {
  readonly forwarder: Forwarder;
  readonly wall: Wall;
  readonly timeoutMs: number;
  /** Where the router listens, once it takes requests. */
  readonly routerUrl: Promise<string>;
}

export const routerLine = ({ forwarder, wall, timeoutMs, routerUrl }: LineOptions): RouterLine => ({
  async ask(key, method, path, content) {
    const url = await routerUrl;
    const gaveUp = new AbortController();
    const answer = await within(wall, timeoutMs, exchange(url, gaveUp.signal));
    if (answer !== late) return answer;
    gaveUp.abort(new Error("Nobody waits for the answer any more"));
    return undefined;

    async function exchange(origin: string, signal: AbortSignal): Promise<RouterAnswer | undefined> {
      const rawHeaders = ["content-type", "application/json", "x-cluster-key", key];
      const bytes = Buffer.from(content === undefined ? "" : JSON.stringify(content));
      const request = { method, target: path, rawHeaders, body: bytes, remoteAddress: "127.0.0.1", origin };
      const sent = await forwarder.send(origin, request, signal);
      if (sent.kind === "unreachable") return undefined;
      const { status, body } = sent.answer;
      try {
        const chunks: Uint8Array[] = [];
        for await (const chunk of body instanceof Uint8Array ? [body] : body) chunks.push(chunk);
        return { status, body: JSON.parse(Buffer.concat(chunks).toString()) };
      } catch {
        return undefined;
      }
    }
  },
});
