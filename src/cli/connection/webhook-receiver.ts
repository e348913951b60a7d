import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { runAfterDelay } from "../../base/clock.ts";

/** One received POST, its body as raw bytes. */
export interface ReceivedPost {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A small HTTP receiver for webhooks on this machine. */
export interface Receiver {
  readonly url: string;
  /** Everything received so far, oldest first; empty when `answer` is given. */
  readonly received: readonly ReceivedPost[];
  close(): Promise<void>;
}

/** The receiver's response to one POST. */
export interface ReceiverResponse {
  readonly status: number;
  readonly body?: string;
  readonly contentType?: string;
}

export interface ReceiverOptions {
  /** 0: any free port. */
  readonly port?: number;
  /** The response to every request. */
  readonly status?: number;
  /** Called with a request whose body is too large, which is answered 413 and not read on. */
  readonly onTooLarge?: (limitBytes: number) => void;
  /** Decides each response; nothing is stored then. */
  readonly answer?: (received: ReceivedPost) => Promise<ReceiverResponse>;
}

/** A delivery is a few kilobytes; more is not a webhook. */
const maxBodyBytes = 8 * 1024 * 1024;

/**
 * How long a rejected sender may take to read the reason: a connection that ends with unread bytes takes the response
 * with it.
 */
const lingerMs = 2_000;

/** For a whole request: one that drips is not a delivery. */
const requestTimeoutMs = 30_000;

/** Bounds the memory of concurrent requests, too; the service sends far fewer at a time. */
const maxConnections = 256;

/** Listens on loopback. Rejects with the system's error where the port is taken. */
export async function openReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const { port = 0, status = 200, answer, onTooLarge } = options;
  const received: ReceivedPost[] = [];
  const answering = new Set<Promise<void>>();
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
      runAfterDelay(lingerMs, () => request.destroy());
    });
    request.on("end", () => {
      if (size > maxBodyBytes) return;
      const { method = "", url = "/", headers } = request;
      const one = { method, path: url, headers, body: Buffer.concat(chunks) };
      if (!answer) {
        received.push(one);
        return void sendReply(response, { status, body: status < 300 ? "ok" : "no" });
      }
      const replied = answer(one)
        .catch((): ReceiverResponse => ({ status: 500 }))
        .then((given) => sendReply(response, given))
        .finally(() => answering.delete(replied));
      answering.add(replied);
    });
  });
  server.maxConnections = maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async close() {
      // The sender should not take a pending response for a failure.
      await Promise.all(answering);
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** Resolves when the response is sent, or its connection has ended. */
function sendReply(response: ServerResponse, { status, body = "", contentType = "text/plain" }: ReceiverResponse) {
  return new Promise<void>((done) => {
    response.once("close", done).once("finish", done);
    response.writeHead(status, { "content-type": contentType }).end(body);
  });
}
