import { Agent, buildConnector } from "undici";
import type { WallClock } from "../../../src/base/clock.ts";
import { createContinueSkippingConnector } from "../../../src/base/response-quirks.ts";
import { timedOut, withTimeout } from "../../../src/base/with-timeout.ts";
import { PostExchange, type PostOutcome } from "./post-exchange.ts";

/** What came of an export: an answer of any status, or in a word why there was none. */
export type ExportResult = { readonly status: number; readonly body: Buffer } | { readonly reason: string };

/** Where somebody collects what an emulator tells of itself. */
export interface Collector {
  readonly origin: string;
  /** Sends one document of JSON. Never rejects. */
  post(body: string): Promise<ExportResult>;
  /** Ends its connection; what is under way has no answer. */
  close(): Promise<void>;
}

interface CollectorOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** For the whole answer, wall time. */
  readonly timeoutMs: number;
  readonly wall: WallClock;
}

/** One connection, opened with the first POST. */
export function createCollector({ url, headers, timeoutMs, wall }: CollectorOptions): Collector {
  const { origin, pathname, search } = new URL(url);
  const agent = new Agent({
    connections: 1,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: createContinueSkippingConnector(buildConnector({ timeout: timeoutMs })),
  });
  return {
    origin,
    async post(body) {
      let exchange: PostExchange | undefined;
      const sent = new Promise<PostOutcome>((resolve) => {
        exchange = new PostExchange(resolve);
        const all = { ...headers, "content-type": "application/json" };
        agent.dispatch({ origin, path: `${pathname}${search}`, method: "POST", headers: all, body }, exchange);
      });
      const ended = await withTimeout(wall, timeoutMs, sent);
      if (ended === timedOut) {
        exchange?.abort(new Error("the caller has stopped waiting"));
        return { reason: "the response timed out" };
      }
      return "status" in ended ? ended : { reason: reasonOf(ended.cause) };
    },
    close: () => agent.destroy(),
  };
}

const reasonOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "the connection ended";
