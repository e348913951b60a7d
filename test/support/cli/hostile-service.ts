import { createServer, type IncomingMessage, type RequestOptions, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

const json = { "content-type": "application/json" };
const html = { "content-type": "text/html" };
const page = "<!doctype html><html><body>Welcome";

const sendTruncatedHead = (response: ServerResponse, type: string) =>
  response.writeHead(200, { "content-type": type, "content-length": 999 });

/** Faults of a service or of an intermediary. `type` is the media type of the expected response. */
const plays = {
  hangs: () => {},
  stalls: (response, type) => sendTruncatedHead(response, type).write("{"),
  "hangs up": (response) => response.destroy(),
  "truncates its response": (response, type) => sendTruncatedHead(response, type).write("{", () => response.destroy()),
  "responds with HTML": (response) => response.writeHead(200, html).end(page),
  "responds with 502 and HTML": (response) => response.writeHead(502, html).end(page),
  "responds with 500": (response) => response.writeHead(500, json).end("{}"),
  "responds with 401": (response) => response.writeHead(401, json).end('{"detail":"no"}'),
} satisfies Record<string, (response: ServerResponse, type: string) => unknown>;

export type ServiceFault = keyof typeof plays;
export const serviceFaults = Object.keys(plays) as readonly ServiceFault[];

/** A service with its own base URL. */
export interface HostileEndpoint {
  readonly url: string;
  /** Returns the number of requests so far. */
  requests(): number;
}

export interface EndpointOptions {
  readonly fault: ServiceFault;
  /** Number of first requests that are forwarded to a real service. */
  readonly passes?: number;
  /** Base URLs of the real service, which are replaced in its responses. */
  readonly upstreams?: readonly string[];
  /** Called at each request with a fault. */
  readonly onFault?: () => void;
}

/**
 * Starts one server for all faults of a test file. `endpoint` returns a base URL with a fault that starts immediately
 * or after some requests. The server is closed when the test ends.
 */
export async function startHostileService(
  t: Pick<TestContext, "after">,
): Promise<{ endpoint(options: EndpointOptions): HostileEndpoint }> {
  const endpoints = new Map<string, (path: string, incoming: IncomingMessage, response: ServerResponse) => unknown>();
  const server = createServer((incoming, response) => {
    // The metadata path of an issuer precedes the issuer's own path (RFC 8414, 3.1).
    const [, name = "", path = "/"] = /^(?:\/\.well-known\/[\w-]+)?\/(\d+)(.*)$/s.exec(incoming.url ?? "") ?? [];
    const respond = endpoints.get(name);
    if (respond) respond(path, incoming, response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    endpoint({ fault, passes = 0, upstreams = [], onFault }) {
      const url = `${base}/${endpoints.size + 1}`;
      let count = 0;
      endpoints.set(String(endpoints.size + 1), (path, incoming, response) => {
        count += 1;
        if (count <= passes) return forwardRequest({ path, incoming, response, upstreams, url });
        incoming.resume();
        const isStream = incoming.headers.accept === "text/event-stream";
        plays[fault](response, isStream ? "text/event-stream" : "application/json");
        onFault?.();
      });
      return { url, requests: () => count };
    },
  };
}

/**
 * Forwards a request to a real service and replaces its addresses in the response, so that all requests come to the
 * endpoint.
 */
function forwardRequest(exchange: {
  path: string;
  incoming: IncomingMessage;
  response: ServerResponse;
  upstreams: readonly string[];
  url: string;
}): void {
  const { path, incoming, response, upstreams, url } = exchange;
  // Signed addresses belong to a cluster, the last base URL. All other requests go to the router.
  const upstream = new URL(path.startsWith("/_storage/") ? upstreams.at(-1)! : upstreams[0]!);
  const options: RequestOptions = {
    method: incoming.method,
    path,
    headers: { ...incoming.headers, host: upstream.host },
  };
  const forward = request(upstream, options, async (upstreamResponse) => {
    const pieces: Buffer[] = [];
    for await (const piece of upstreamResponse) pieces.push(piece as Buffer);
    let body = Buffer.concat(pieces);
    if (upstreamResponse.headers["content-type"]?.includes("json")) {
      body = Buffer.from(upstreams.reduce((text, address) => text.replaceAll(address, url), body.toString()));
    }
    const { "content-length": _, "transfer-encoding": __, ...headers } = upstreamResponse.headers;
    response.writeHead(upstreamResponse.statusCode!, { ...headers, "content-length": body.length }).end(body);
  });
  forward.on("error", () => response.destroy());
  incoming.pipe(forward);
}
