import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

/** One POST that came in, its body as raw bytes. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** A small HTTP receiver for webhooks on this machine. */
export interface Receiver {
  readonly url: string;
  /** Everything received so far, oldest first. */
  readonly received: readonly Received[];
  close(): Promise<void>;
}

export interface ReceiverOptions {
  /** 0: any free port. */
  readonly port?: number;
  /** What it answers. */
  readonly status?: number;
  /** Told about each POST before it is answered. */
  readonly onReceived?: (received: Received) => void | Promise<void>;
}

/** A delivery is a few kilobytes; more is not a webhook. */
const maxBodyBytes = 8 * 1024 * 1024;

export async function openReceiver({ port = 0, status = 200, onReceived }: ReceiverOptions = {}): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBodyBytes) request.destroy();
      else chunks.push(chunk);
    });
    request.on("end", async () => {
      const one = { path: request.url ?? "/", headers: request.headers, body: Buffer.concat(chunks) };
      received.push(one);
      await onReceived?.(one);
      response.writeHead(status, { "content-type": "text/plain" }).end(status < 300 ? "ok" : "no");
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
