import type { WallClock } from "../../../src/base/clock.ts";
import { timedOut, withTimeout } from "../../../src/base/timing.ts";
import { createAgent, startForward } from "./dispatch.ts";
import { failuresByErrorCode, readPostResponse } from "./webhook-sender.ts";

/** Result of an export: a response of any status, or the reason for a missing response in a few words. */
export type ExportResult = { readonly status: number; readonly body: Buffer } | { readonly reason: string };

/** Client of the collector that receives the emulator's spans. */
export type SpanCollector = ReturnType<typeof createSpanCollector>;

interface CollectorOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Maximum wall-clock time for the whole response. */
  readonly timeoutMs: number;
  readonly wall: WallClock;
}

/** Creates a collector with one connection, which the first POST opens. */
export function createSpanCollector({ url, headers, timeoutMs, wall }: CollectorOptions) {
  const { origin, pathname, search } = new URL(url);
  const agent = createAgent({ timeout: timeoutMs }, { connections: 1, headersTimeout: 0, bodyTimeout: 0 });
  return {
    origin,
    /** Sends one JSON document. Never rejects. */
    async post(body: string): Promise<ExportResult> {
      const sending = startForward(agent, {
        origin,
        path: `${pathname}${search}`,
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body,
      });
      const result = await withTimeout(wall, timeoutMs, sending.result.then(readPostResponse));
      if (result !== timedOut) return "status" in result ? result : { reason: getReason(result.cause) };
      sending.abort();
      return { reason: "the response timed out" };
    },
    /** Closes the connection. Pending requests get no response. */
    close: () => agent.destroy(),
  };
}

function getReason(error: unknown): string {
  if (!(error instanceof Error && "code" in error)) return "the connection ended";
  const code = String(error.code);
  return failuresByErrorCode[code]?.[0].replaceAll("_", " ") ?? code;
}
