import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** A bulk request that the scripted routing service received. */
export interface BulkRequest {
  /** Number of the request, from 1. */
  readonly number: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ScriptedResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface BulkService {
  readonly url: string;
  readonly calls: readonly BulkRequest[];
}

const clusters = ["eu-1", "us-1"].map((cluster_id) => ({
  cluster_id,
  cluster_label: cluster_id,
  cluster_url: "http://127.0.0.1:1",
  cluster_oo_url: "http://127.0.0.1:1",
  cluster_wopi_oo_url: "http://127.0.0.1:1",
  sidebar_backend_url: "http://127.0.0.1:1",
}));

/**
 * Starts a routing service with scripted responses to bulk requests, `true` by default. It lists its clusters and looks
 * up the identifiers in `owners`.
 */
export async function startBulkService(
  t: Pick<TestContext, "after">,
  script: (call: BulkRequest) => ScriptedResponse | undefined | Promise<ScriptedResponse | undefined> = () => undefined,
  owners: Readonly<Record<string, string>> = {},
): Promise<BulkService> {
  const calls: BulkRequest[] = [];
  const server = createServer(async (request, response) => {
    if (request.method === "GET" && request.url === "/router/v1/clusters/") {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(clusters));
      return;
    }
    const looked = /^\/router\/v1\/cluster_(?:emails\/email|clients\/client)\/(.+)$/.exec(request.url ?? "");
    if (request.method === "GET" && looked) {
      const owner = owners[decodeURIComponent(looked[1]!)];
      const body =
        owner === undefined ? { detail: "No mapping" } : { email_hash: "", client_id: "", cluster_id: owner };
      response.writeHead(owner === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
      return;
    }
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const call: BulkRequest = {
      number: calls.length + 1,
      path: request.url ?? "",
      headers: request.headers as BulkRequest["headers"],
      body: JSON.parse(Buffer.concat(pieces).toString()),
    };
    calls.push(call);
    const { status, headers, body = true } = (await script(call)) ?? { status: 200 };
    response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, calls };
}
