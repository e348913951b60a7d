import { Agent, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { systemWallClock } from "../../base/clock.ts";
import { decodeContent, parseContentCodings } from "../../base/content-codings.ts";
import { lookupHost } from "../../files/machine.ts";
import { type HttpMessage, pairHeaders, type RecordedResponse } from "../exchange.ts";

interface ReplayRequest extends HttpMessage {
  readonly method: string;
  readonly url: string;
}

/** A service did not respond, or the response was incomplete. */
export class NoResponseError extends Error {
  override readonly name = "NoResponseError";
}

const maxResponseMs = 30_000;
const maxResponseBytes = 64 * 1024 * 1024;

/**
 * Sends requests unchanged, with the order and spelling of their headers. Requests beyond the rate wait. Compressed
 * responses are decoded. Callers must close the sender.
 */
export function createRequestSender(requestsPerSecond = Number.POSITIVE_INFINITY) {
  const agent = new Agent({ keepAlive: true });
  let isFirst = true;
  return { send, close: () => agent.destroy() };

  /** Resolves with the response, and with the time of its request. */
  async function send(request: ReplayRequest, signal?: AbortSignal) {
    const waitMs = isFirst ? 0 : 1_000 / requestsPerSecond;
    isFirst = false;
    if (waitMs > 0) await systemWallClock.sleep(waitMs, signal);
    signal?.throwIfAborted();
    const at = systemWallClock.now();
    return { ...(await exchange(request, signal)), at };
  }

  function exchange({ method, url, headers, body }: ReplayRequest, signal?: AbortSignal): Promise<RecordedResponse> {
    const target = new URL(url);
    const isTls = target.protocol === "https:";
    const own = headers.filter(([name]) => !/^(?:host|content-length|connection)$/i.test(name));
    const needsLength = body.length > 0 || /^(?:POST|PUT|PATCH)$/.test(method);
    const all = [...own, ["host", target.host], ...(needsLength ? [["content-length", String(body.length)]] : [])];
    return new Promise((resolve, reject) => {
      const fail = (cause: Error) => {
        const message = `${target.origin} did not respond: ${cause.message}`;
        reject(signal?.aborted ? cause : new NoResponseError(message, { cause }));
      };
      const request = (isTls ? requestHttps : requestHttp)(target, {
        method,
        // URL would normalize differences that a service can detect.
        path: url.slice(target.origin.length) || "/",
        headers: all.flat() as unknown as Record<string, string>,
        ...(!isTls && { agent }),
        setHost: false,
        lookup: lookupHost,
        timeout: maxResponseMs,
        ...(signal && { signal }),
      });
      request.once("timeout", () => request.destroy(new Error(`no response in ${maxResponseMs / 1_000} s`)));
      request.once("error", fail);
      request.once("response", (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on("data", (chunk: Buffer) => {
          size += chunk.length;
          if (size > maxResponseBytes) response.destroy(new Error("the response is larger than 64 MiB"));
          else chunks.push(chunk);
        });
        response.once("error", fail);
        response.once("end", () => {
          const received = Buffer.concat(chunks);
          const codings = parseContentCodings(response.headers["content-encoding"] ?? "");
          const decoded = decodeContent(received, codings, maxResponseBytes);
          const all = pairHeaders(response.rawHeaders);
          const headers = decoded ? all.filter(([name]) => name.toLowerCase() !== "content-encoding") : all;
          resolve({ status: response.statusCode!, headers, body: decoded ?? received });
        });
      });
      request.end(body);
    });
  }
}
