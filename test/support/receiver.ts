import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** A request that a receiver got. */
export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as received. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export interface Receiver {
  readonly url: string;
  readonly received: readonly ReceivedRequest[];
  /** Sets the next responses, by a status or by a function that responds. */
  respond(behavior: number | ((request: ReceivedRequest, response: ServerResponse) => void)): void;
}

/**
 * Starts a small HTTP server that records requests and responds with 200 by default. It is closed when the test ends.
 */
export async function startReceiver(t: Pick<TestContext, "after">): Promise<Receiver> {
  const received: ReceivedRequest[] = [];
  let behavior: number | ((request: ReceivedRequest, response: ServerResponse) => void) = 200;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // The client closed the connection.
      return;
    }
    const { method = "", url = "", headers, rawHeaders } = request;
    const receivedRequest = { method, url, headers, rawHeaders, body: Buffer.concat(chunks) };
    received.push(receivedRequest);
    if (typeof behavior === "number") response.writeHead(behavior).end();
    else behavior(receivedRequest, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    respond: (next) => {
      behavior = next;
    },
  };
}
