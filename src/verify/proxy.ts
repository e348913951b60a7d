import { once } from "node:events";
import { createServer, type IncomingMessage, request as requestHttp, type ServerResponse } from "node:http";
import { request as requestHttps } from "node:https";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { maxHeadBytes } from "../base/response-quirks.ts";
import { maxIdleConnectionMs } from "../base/timing.ts";
import { lookupHost } from "../files/machine.ts";
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
export async function openRecordingProxy({ to, host, port: requestedPort, now, onExchange, onSkipped }: ProxyOptions) {
  const service = new URL(to);
  let isClosing = false;
  const server = createServer({ maxHeaderSize: maxHeadBytes }, forwardRequest);
  // Uploads can take long, and the service limits their duration.
  server.requestTimeout = 0;
  server.keepAliveTimeout = maxIdleConnectionMs;
  server.on("upgrade", ({ method, url }, socket) => {
    onSkipped(`${method} ${url?.split("?")[0]} requests another protocol`);
    socket.end("HTTP/1.1 501 Not Implemented\r\ncontent-length: 0\r\n\r\n");
  });
  await once(server.listen(requestedPort, host), "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${port}`,
    close: () =>
      new Promise<void>((resolve) => {
        isClosing = true;
        server.close(() => resolve()).closeAllConnections();
      }),
  };

  function forwardRequest(incoming: IncomingMessage, response: ServerResponse): void {
    const at = now();
    const { method = "GET", url = "/" } = incoming;
    const target = service.pathname.replace(/\/$/, "") + url;
    const headers = pairHeaders(incoming.rawHeaders).map(([name, value]): [string, string] => [
      name,
      name.toLowerCase() === "host" ? service.host : value,
    ]);
    let isSettled = false;
    /** Reports an exchange once. Later failures of the same exchange are ignored. */
    const settle = (report: () => void) => {
      if (!isSettled) report();
      isSettled = true;
    };
    const skip = (reason: string) => settle(() => onSkipped(`${method} ${target.split("?")[0]} ${reason}`));

    const readRequestBody = captureBody(incoming);
    const outgoing = (service.protocol === "https:" ? requestHttps : requestHttp)(service, {
      method,
      path: target,
      // A flat list preserves the order, spelling and repetitions of headers.
      headers: headers.flat() as unknown as Record<string, string>,
      setHost: false,
      maxHeaderSize: maxHeadBytes,
      lookup: lookupHost,
    });
    incoming.pipe(outgoing);
    // A pipe whose end is closed pauses the request. The rest is read so that the connection can be reused.
    outgoing.once("close", () => incoming.resume());
    incoming.once("error", () => {
      skip("was not sent completely: the client disconnected");
      outgoing.destroy();
    });
    response.once("close", () => {
      if (response.writableEnded) return;
      skip(isClosing ? "was not complete when the proxy stopped" : "has no complete response: the client disconnected");
      outgoing.destroy();
    });
    outgoing.once("response", (received) => {
      const { statusCode: status = 0, statusMessage, rawHeaders } = received;
      const readResponseBody = captureBody(received);
      response.writeHead(status, statusMessage, rawHeaders as unknown as string[]);
      received.pipe(response);
      received.once("error", () => {
        skip("has no complete response: the service closed the connection");
        response.destroy();
      });
      received.once("end", () => {
        const [body, responseBody] = [readRequestBody(), readResponseBody()];
        if (body === undefined || responseBody === undefined) return skip("is larger than 16 MiB");
        const request = { method, target, headers, body };
        const recorded = { status, headers: pairHeaders(rawHeaders), body: responseBody };
        settle(() => onExchange({ at, request, response: recorded }));
      });
    });
    outgoing.once("error", (error: NodeJS.ErrnoException) => {
      skip(`got no response: ${error.code ?? error.message}`);
      if (response.destroyed) return;
      if (response.headersSent) return void response.destroy();
      const reason = error.code ?? "the service did not respond";
      response.writeHead(502, { "content-type": "text/plain" }).end(`svc verify proxy: ${reason}\n`);
    });
  }
}

/** Collects the bytes of a stream. Returns a function that returns them, or undefined if they are too many. */
function captureBody(stream: Readable): () => Buffer | undefined {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size <= maxRecordedBytes) chunks.push(chunk);
    else chunks.length = 0;
  });
  return () => (size > maxRecordedBytes ? undefined : Buffer.concat(chunks));
}
