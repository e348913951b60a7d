import { once } from "node:events";
import { createServer, type IncomingMessage, request as requestHttp, type ServerResponse } from "node:http";
import { request as requestHttps } from "node:https";
import type { AddressInfo } from "node:net";
import { maxIdleConnectionMs } from "../base/timing.ts";
import { pairHeaders } from "./exchange.ts";
import type { RawExchange } from "./recorder.ts";

interface ProxyOptions {
  readonly to: string;
  readonly host: string;
  readonly port: number;
  readonly now: () => number;
  /** Called with each exchange after the response was sent. */
  readonly onExchange: (exchange: RawExchange) => void;
  /** Called with the reason why an exchange is not recorded. */
  readonly onSkipped: (reason: string) => void;
}

/** Maximum size of recorded bodies. Larger bodies are forwarded but not recorded. */
const maxRecordedBytes = 16 * 1024 * 1024;

/** Forwards every request to a service byte for byte and reports each exchange. */
export async function openRecordingProxy(options: ProxyOptions) {
  const target = new URL(options.to);
  let isClosing = false;
  const server = createServer((incoming, response) =>
    forwardRequest(incoming, response, target, options, () => isClosing),
  );
  // Uploads can take long, and the service limits their duration.
  server.requestTimeout = 0;
  server.keepAliveTimeout = maxIdleConnectionMs;
  server.on("upgrade", ({ method, url }, socket) => {
    options.onSkipped(`${method} ${url?.split("?")[0]} requests another protocol`);
    socket.end("HTTP/1.1 501 Not Implemented\r\ncontent-length: 0\r\n\r\n");
  });
  await once(server.listen(options.port, options.host), "listening");
  const { port } = server.address() as AddressInfo;
  const shownHost = options.host.includes(":") ? `[${options.host}]` : options.host;
  return {
    url: `http://${shownHost}:${port}`,
    close: () =>
      new Promise<void>((resolve) => {
        isClosing = true;
        server.close(() => resolve()).closeAllConnections();
      }),
  };
}

function forwardRequest(
  incoming: IncomingMessage,
  response: ServerResponse,
  target: URL,
  options: ProxyOptions,
  isClosing: () => boolean,
): void {
  const { now, onExchange, onSkipped } = options;
  const at = now();
  const { method = "GET", url = "/" } = incoming;
  const path = target.pathname.replace(/\/$/, "") + url;
  const headers = pairHeaders(incoming.rawHeaders).map(([name, value]): [string, string] => [
    name,
    name.toLowerCase() === "host" ? target.host : value,
  ]);
  const send = target.protocol === "https:" ? requestHttps : requestHttp;
  const sent = new CapturedBody();
  const received = new CapturedBody();
  let isSettled = false;
  /** Reports an exchange once. Later failures of the same exchange are ignored. */
  const settle = (report: () => void) => {
    if (!isSettled) report();
    isSettled = true;
  };
  const skip = (reason: string) => settle(() => onSkipped(`${method} ${path.split("?")[0]} ${reason}`));
  const outgoing = send(target, {
    method,
    path,
    // A flat list preserves the order, spelling and repetitions of headers.
    headers: headers.flat() as unknown as Record<string, string>,
    setHost: false,
  });
  incoming.on("data", (chunk: Buffer) => sent.add(chunk));
  incoming.pipe(outgoing);
  // A pipe whose end is closed pauses the request. The rest is read so that the connection can be reused.
  outgoing.once("close", () => incoming.resume());
  incoming.once("error", () => {
    skip("was not sent completely: the client disconnected");
    outgoing.destroy();
  });
  response.once("close", () => {
    if (response.writableEnded) return;
    skip(isClosing() ? "was not complete when the proxy stopped" : "has no complete response: the client disconnected");
    outgoing.destroy();
  });
  outgoing.once("response", (answer) => {
    response.writeHead(answer.statusCode!, answer.statusMessage, answer.rawHeaders as unknown as string[]);
    answer.on("data", (chunk: Buffer) => received.add(chunk));
    answer.pipe(response);
    answer.once("error", () => {
      skip("has no complete response: the service closed the connection");
      response.destroy();
    });
    answer.once("end", () => {
      const [request, reply] = [sent.body, received.body];
      if (request === undefined || reply === undefined) return skip("is larger than 16 MiB");
      settle(() =>
        onExchange({
          at,
          durationMs: now() - at,
          request: { method, target: path, headers, body: request },
          response: { status: answer.statusCode!, headers: pairHeaders(answer.rawHeaders), body: reply },
        }),
      );
    });
  });
  outgoing.once("error", (error: NodeJS.ErrnoException) => {
    skip(`got no response: ${error.code ?? error.message}`);
    if (response.destroyed) return;
    if (response.headersSent) return void response.destroy();
    response
      .writeHead(502, { "content-type": "text/plain" })
      .end(`svc verify proxy: ${error.code ?? "the service did not respond"}\n`);
  });
}

class CapturedBody {
  readonly #chunks: Buffer[] = [];
  #size = 0;

  add(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size <= maxRecordedBytes) this.#chunks.push(chunk);
    else this.#chunks.length = 0;
  }

  /** Undefined if the body is too large. */
  get body(): Buffer | undefined {
    return this.#size > maxRecordedBytes ? undefined : Buffer.concat(this.#chunks);
  }
}
