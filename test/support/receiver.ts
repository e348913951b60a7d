import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** One request that a receiver got. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Name, value, name, value, … as they came. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** What it answers from now on: a status, or a function that answers by itself. */
  answer(how: number | ((request: Received, response: ServerResponse) => void)): void;
}

/** A small HTTP server that notes what it gets and answers 200 until told otherwise. Closed when the test ends. */
export async function receiver(t: Pick<TestContext, "after">): Promise<Receiver> {
  const received: Received[] = [];
  let how: number | ((request: Received, response: ServerResponse) => void) = 200;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // The sender hung up.
      return;
    }
    const { method = "", url = "", headers, rawHeaders } = request;
    const got = { method, url, headers, rawHeaders, body: Buffer.concat(chunks) };
    received.push(got);
    if (typeof how === "number") response.writeHead(how).end();
    else how(got, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer: (next) => {
      how = next;
    },
  };
}
