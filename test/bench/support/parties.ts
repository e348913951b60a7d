import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import replyFrom from "@fastify/reply-from";
import { fastify } from "fastify";
import { type Load, sendLoad } from "./load.ts";

/**
 * The program of `ProcessGroup`. It runs the role from the command line, reports when it is ready, and responds to
 * messages.
 */
type PartyHandlers = Readonly<Record<string, (about: never) => unknown>>;
type Role = (about: never) => Promise<{ readonly ready: object; readonly handlers?: PartyHandlers }>;

const roles: Readonly<Record<string, Role>> = {
  async emulator({ folder, options }: { folder: string; options: object }) {
    const { startEmulator } = await import(`${folder}/dist/emulator.js`);
    const { routerUrl: url, token, clusters } = await startEmulator(options);
    return { ready: { url, token, clusters } };
  },

  /** Another process of a shared store. */
  async standby({ folder, options }: { folder: string; options: object }) {
    const { startEmulator } = await import(`${folder}/dist/emulator.js`);
    const { routerUrl: url } = await new Promise<{ routerUrl: string }>((resolve, reject) => {
      startEmulator({ ...options, onLeaderChange: resolve }).catch(reject);
    });
    return { ready: { url } };
  },

  /** The bare counterpart of the mapping tables, with the same JSON. */
  async tables({ owners: seeded = {} }: { owners?: Readonly<Record<string, string>> }) {
    const app = fastify({ bodyLimit: 64 * 1024 * 1024 });
    const owners = new Map(Object.entries(seeded));
    app.get("/router/v1/cluster_emails/email/:email_hash", ({ params }) => {
      const { email_hash } = params as { email_hash: string };
      return { email_hash, cluster_id: owners.get(email_hash) };
    });
    app.post("/router/v1/cluster_emails/bulk", ({ body }) => {
      const { email_hash_list, cluster_id } = body as { email_hash_list: string[]; cluster_id: string };
      for (const hash of email_hash_list) owners.set(hash, cluster_id);
      return true;
    });
    return { ready: { url: await app.listen({ port: 0, host: "127.0.0.1" }) } };
  },

  /** The bare counterpart of the router, which forwards every request. */
  async proxy({ upstream }: { upstream: string }) {
    const app = fastify();
    app.register(replyFrom, { base: upstream, undici: { connections: 256, pipelining: 1 } });
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
    app.all("/*", (request, reply) => void reply.from(request.raw.url ?? "/"));
    return { ready: { url: await app.listen({ port: 0, host: "127.0.0.1" }) } };
  },

  /** Responds to every request with one status and one document, counts requests, and stores the first one. */
  async answering({ status = 200, body = {} }: { status?: number; body?: object }) {
    const responseBody = JSON.stringify(body);
    let count = 0;
    let enough = Number.POSITIVE_INFINITY;
    let notifyWaiter = () => {};
    let first: Pick<Load, "headers" | "body"> | undefined;
    /** Resolves when this many requests have arrived in total. */
    const waitForCount = (about: { readonly count: number }) =>
      new Promise<number>((resolve) => {
        enough = about.count;
        notifyWaiter = () => resolve(count);
        if (count >= enough) notifyWaiter();
      });
    const url = await startServer(async (request, response) => {
      count += 1;
      if (count === enough) notifyWaiter();
      request.on("end", () => response.writeHead(status, { "content-type": "application/json" }).end(responseBody));
      if (first) request.resume();
      else first = { headers: getForwardableHeaders(request), body: await text(request) };
    });
    return { ready: { url }, handlers: { count: () => count, first: () => first, until: waitForCount } };
  },

  /** Sends requests on demand. */
  async sender() {
    return { ready: {}, handlers: { send: (load: Load) => sendLoad(load) } };
  },
};

/** Returns the headers of a request without those that each client sets automatically. */
function getForwardableHeaders({ headers }: IncomingMessage): Load["headers"] {
  const { host: _, connection: __, "content-length": ___, ...rest } = headers;
  return rest as Load["headers"];
}

async function startServer(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function getCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function measureUsage(): object {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  return { cpuMs: getCpuMs(), rssMb: rss / 1_048_576, heapMb: heapUsed / 1_048_576 };
}

const [role = "", parameters = "{}"] = process.argv.slice(2);
const { ready, handlers = {} } = await roles[role]!(JSON.parse(parameters) as never);
process.on("message", async (query: { question: string; about: never }) => {
  const partyHandlers: PartyHandlers = { usage: measureUsage, cpu: getCpuMs, ...handlers };
  process.send!(await partyHandlers[query.question]!(query.about));
});
process.send!(ready);
