import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { runAfterDelay, systemWallClock } from "../../base/clock.ts";
import { withTimeout } from "../../base/timing.ts";

export interface ReceivedWebhookRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface WebhookReceiver {
  readonly url: string;
  close(): Promise<void>;
}

export interface WebhookReceiverResponse {
  readonly status: number;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface WebhookReceiverOptions {
  /** 0, the default, selects a free port. */
  readonly port?: number;
  /** Called with a request whose body is too large. The response is 413, and the rest of the body is not read. */
  readonly onTooLarge?: (limitBytes: number) => void;
  readonly respond: (received: ReceivedWebhookRequest) => Promise<WebhookReceiverResponse>;
  /** Called with the error of `respond`. The response is 500. */
  readonly onError?: (error: unknown) => void;
  /** Ends the run, and with it pending calls of `respond`. Their responses are 503. */
  readonly signal?: AbortSignal;
}

/** A delivery has a few kilobytes, so a larger body is not a webhook. */
const maxBodyBytes = 8 * 1024 * 1024;

/** Time for a rejected sender to read the response, because closing with unread bytes discards it. */
const maxLingerMs = 2_000;

/** Time for pending responses when the receiver closes. The sender repeats a delivery without a response. */
const closeGraceMs = 2_000;

/** Maximum duration of a whole request, against slow senders. */
const requestTimeoutMs = 30_000;

/** Limits the memory of concurrent requests. The service sends far fewer requests at a time. */
const maxConnections = 256;

/** Listens on loopback. Rejects with the system's error if the port is in use. */
export async function openWebhookReceiver({
  port = 0,
  respond,
  onTooLarge,
  onError,
  signal,
}: WebhookReceiverOptions): Promise<WebhookReceiver> {
  const pendingResponses = new Set<Promise<void>>();
  const server = createServer({ requestTimeout: requestTimeoutMs }, (request, response) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      if (response.headersSent) return;
      size += chunk.length;
      if (size <= maxBodyBytes) return void chunks.push(chunk);
      chunks.length = 0;
      onTooLarge?.(maxBodyBytes);
      response.writeHead(413).end("too large for a webhook");
      request.pause();
      runAfterDelay(maxLingerMs, () => request.destroy());
    });
    request.on("end", () => {
      if (size > maxBodyBytes) return;
      // Deliveries are POST requests. Others come from browsers and scanners.
      if (request.method !== "POST") return void response.writeHead(405, { allow: "POST" }).end();
      const { url: path = "/" } = request;
      const headerEntries = Object.entries(request.headers).map(([name, value]) => [name, [value].flat().join(", ")]);
      const delivery = { path, headers: Object.fromEntries(headerEntries), body: Buffer.concat(chunks) };
      const pendingResponse = respond(delivery)
        .catch((error): WebhookReceiverResponse => {
          if (signal?.aborted) return { status: 503, body: "svc ended before the app responded" };
          onError?.(error);
          return { status: 500 };
        })
        .then((result) => sendResponse(response, result))
        .finally(() => pendingResponses.delete(pendingResponse));
      pendingResponses.add(pendingResponse);
    });
  });
  server.maxConnections = maxConnections;
  await once(server.listen(port, "127.0.0.1"), "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      // The sender must not treat a pending response as a failure.
      await withTimeout(systemWallClock, closeGraceMs, Promise.all(pendingResponses));
      await new Promise<void>((resolve) => void server.close(() => resolve()).closeAllConnections());
    },
  };
}

function sendResponse(
  response: ServerResponse,
  { status, body = "", headers = { "content-type": "text/plain" } }: WebhookReceiverResponse,
) {
  return new Promise<void>((resolve) => {
    response.once("close", resolve).once("finish", resolve);
    response.writeHead(status, headers).end(body);
  });
}
