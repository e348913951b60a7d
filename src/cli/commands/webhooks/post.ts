import { isHeaderName, isHeaderValue } from "../../../api/operation.ts";
import { suggestsTlsServer } from "../../../base/errors.ts";
import { clientDefaults } from "../../../client/client.ts";
import { NetworkError } from "../../../client/errors.ts";
import { readBodyText } from "../../../client/response.ts";
import type { Context } from "../../command.ts";
import { openTransport } from "../../connection/http.ts";
import { truncateText } from "../../output/text.ts";
import { parseUrlFlag } from "../../parse/globals.ts";
import { UsageError } from "../../process/failure.ts";
import { type SavedDelivery, selectForwardedHeaders } from "./saved-deliveries.ts";

export type DeliverySendResult =
  | { readonly status: number; readonly duration_ms: number; readonly body: string; readonly content_type: string }
  | { readonly error: string; readonly duration_ms: number };

export const isSuccessfulPost = (response: DeliverySendResult): boolean =>
  "status" in response && response.status >= 200 && response.status < 300;

/** Formats `200 in 12 ms`, `401 in 12 ms: bad signature` with the receiver's reason for a rejection, or the error. */
export function formatPostResult(response: DeliverySendResult): string {
  if ("error" in response) return response.error;
  const summary = `${response.status} in ${response.duration_ms} ms`;
  const text = response.body.trim();
  const isHtml = /html/i.test(response.content_type);
  return isSuccessfulPost(response) || text === "" || isHtml
    ? summary
    : `${summary}: ${truncateText(text.replaceAll(/\s+/g, " "), 200)}`;
}

/** Omits the body, which can contain personal data, from a result. */
export const summarizePost = (result: DeliverySendResult | undefined) =>
  result === undefined
    ? null
    : {
        ...("status" in result ? { status: result.status } : { error: result.error }),
        duration_ms: result.duration_ms,
      };

export type DeliverySender = Awaited<ReturnType<typeof openDeliverySender>>;

/** Creates a sender that delivers to receivers as the service does. It is closed at the end of the run. */
export async function openDeliverySender({ globals, host, signal, onEnd }: Context) {
  const transport = await openTransport(host, globals);
  onEnd(() => transport.close());
  return {
    /** Sends raw bytes and headers once. An unreachable receiver is a result, not an exception. */
    async post(url: string, { body, headers }: SavedDelivery): Promise<DeliverySendResult> {
      const startedAt = host.wall.monotonicNow();
      const measureDuration = () => Math.round(host.wall.monotonicNow() - startedAt);
      try {
        const request = { method: "POST", url, headers: selectForwardedHeaders(headers), body } as const;
        const response = await transport.send(request, {
          timeoutMs: globals.timeoutMs ?? clientDefaults.timeoutMs,
          signal,
        });
        const text = await readBodyText(response.body);
        const type = response.headers["content-type"] ?? "text/plain";
        return { status: response.status, duration_ms: measureDuration(), body: text, content_type: type };
      } catch (error) {
        if (!(error instanceof NetworkError)) throw error;
        const hint = suggestsTlsServer(url, error.code) ? " If the receiver uses TLS, use https://." : "";
        return { error: `${error.message}${hint}`, duration_ms: measureDuration() };
      }
    },
  };
}

/** Parses the URL of a receiver, also in the forms `localhost:3000/hooks` and `3000`. */
export function parseReceiverUrl(text: string, flag: string): string {
  if (/^\d+$/.test(text)) {
    if (Number(text) > 65_535) throw new UsageError(`${flag} must be a port up to 65535, or a URL, got "${text}"`);
    return parseUrlFlag(`http://localhost:${text}`, flag);
  }
  return parseUrlFlag(/^[\w.-]+:\d{1,5}(\/|$)/.test(text) ? `http://${text}` : text, flag);
}

export function parseHeader(text: string): [string, string] {
  const colon = text.indexOf(":");
  const name = text.slice(0, colon).trim().toLowerCase();
  const value = text.slice(colon + 1).trim();
  if (colon < 1 || !isHeaderName(name) || !isHeaderValue(value)) {
    throw new UsageError(`--header must be "Name: value", got "${text.slice(0, Math.max(0, colon)) || text}"`);
  }
  return [name, value];
}
