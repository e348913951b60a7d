import { createServer, type IncomingMessage, type RequestOptions, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

const json = { "content-type": "application/json" };
const html = { "content-type": "text/html" };
const page = "<!doctype html><html><body>Welcome";

const half = (response: ServerResponse, type: string) =>
  response.writeHead(200, { "content-type": type, "content-length": 999 });

/** What a service, or something that stands in front of it, can do wrong; `type` is what it was asked for. */
const plays = {
  hangs: () => {},
  stalls: (response, type) => half(response, type).write("{"),
  "hangs up": (response) => response.destroy(),
  "truncates its response": (response, type) => half(response, type).write("{", () => response.destroy()),
  "responds with HTML": (response) => response.writeHead(200, html).end(page),
  "responds with 502 and HTML": (response) => response.writeHead(502, html).end(page),
  "responds with 500": (response) => response.writeHead(500, json).end("{}"),
  "responds with 401": (response) => response.writeHead(401, json).end('{"detail":"no"}'),
} satisfies Record<string, (response: ServerResponse, type: string) => unknown>;

export type Trouble = keyof typeof plays;
export const troubles = Object.keys(plays) as readonly Trouble[];

/** A service under an address of its own. */
export interface Endpoint {
  readonly url: string;
  /** How many requests have come. */
  requests(): number;
}

export interface EndpointOptions {
  readonly trouble: Trouble;
  /** So many requests are well: they go on to a real service. */
  readonly passes?: number;
  /** That service: answers under its addresses, and names them in its answers. */
  readonly to?: readonly string[];
  /** Called at each request that is in trouble. */
  readonly onTrouble?: () => void;
}

/**
 * One server for all the troubles of a test file: `endpoint` gives a base URL, and what comes there meets its trouble, at
 * once or after some requests. Closed when the test ends.
 */
export async function hostile(
  t: Pick<TestContext, "after">,
): Promise<{ endpoint(options: EndpointOptions): Endpoint }> {
  const endpoints = new Map<string, (path: string, asked: IncomingMessage, response: ServerResponse) => unknown>();
  const server = createServer((asked, response) => {
    // The metadata of an issuer with a path lies beside the path, too (RFC 8414, 3.1).
    const [, name = "", path = "/"] = /^(?:\/\.well-known\/[\w-]+)?\/(\d+)(.*)$/s.exec(asked.url ?? "") ?? [];
    const answer = endpoints.get(name);
    if (answer) answer(path, asked, response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    endpoint({ trouble, passes = 0, to = [], onTrouble }) {
      const url = `${base}/${endpoints.size + 1}`;
      let count = 0;
      endpoints.set(String(endpoints.size + 1), (path, asked, response) => {
        count += 1;
        if (count <= passes) return passedOn({ path, asked, response, to, url });
        asked.resume();
        const isStream = asked.headers.accept === "text/event-stream";
        plays[trouble](response, isStream ? "text/event-stream" : "application/json");
        onTrouble?.();
      });
      return { url, requests: () => count };
    },
  };
}

/** Lets a real service answer; what it says of its own addresses is said of the endpoint, so that all calls come here. */
function passedOn(of: {
  path: string;
  asked: IncomingMessage;
  response: ServerResponse;
  to: readonly string[];
  url: string;
}): void {
  const { path, asked, response, to, url } = of;
  // Signed addresses are those of a cluster, the last of them; all else goes to the router.
  const upstream = new URL(path.startsWith("/_storage/") ? to.at(-1)! : to[0]!);
  const options: RequestOptions = { method: asked.method, path, headers: { ...asked.headers, host: upstream.host } };
  const forward = request(upstream, options, async (answer) => {
    const pieces: Buffer[] = [];
    for await (const piece of answer) pieces.push(piece as Buffer);
    let body = Buffer.concat(pieces);
    if (answer.headers["content-type"]?.includes("json")) {
      body = Buffer.from(to.reduce((text, address) => text.replaceAll(address, url), body.toString()));
    }
    const { "content-length": _, "transfer-encoding": __, ...headers } = answer.headers;
    response.writeHead(answer.statusCode!, { ...headers, "content-length": body.length }).end(body);
  });
  forward.on("error", () => response.destroy());
  asked.pipe(forward);
}
