import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import replyFrom from "@fastify/reply-from";
import { fastify } from "fastify";
import { Pool } from "undici";
import { startEmulator } from "../../emulator/index.ts";
import { figure } from "./support/measure.ts";

/**
 * A forwarded POST against a library that does the same bare: `node --import tsx test/bench/forward.ts`. Upstream and
 * both proxies run in processes of their own; each prints its URL. Without a role this file is the load.
 */
const connections = 32;
const seconds = 3;
const rounds = 3;
const body = JSON.stringify({ event: "x".repeat(1_000) });
const headers = { "content-type": "application/json", "client-id": "app" };

const roles: Record<string, (upstream: string) => Promise<string>> = {
  async upstream() {
    const server = createServer((request, response) => {
      request.resume().on("end", () => response.setHeader("content-type", "application/json").end('{"ok":true}'));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  },
  async bare(upstream) {
    const app = fastify();
    app.register(replyFrom, { base: upstream, undici: { connections: 256, pipelining: 1 } });
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, payload, done) => done(null, payload));
    app.all("/*", (request, reply) => void reply.from(request.raw.url ?? "/"));
    return app.listen({ port: 0, host: "127.0.0.1" });
  },
  async router(upstream) {
    const clusters = [{ id: "eu-1", label: "eu", external_url: upstream }];
    const seed = { clusters, mappings: { cluster_clients: { "eu-1": ["app"] } } };
    return (await startEmulator({ ephemeral: true, seed })).routerUrl;
  },
};

const [role, given = ""] = process.argv.slice(2);
if (role === undefined) await compare();
else process.stdout.write(`${await roles[role]!(given)}\n`);

async function compare(): Promise<void> {
  const stops: (() => void)[] = [];
  const start = async (name: string, upstream = ""): Promise<string> => {
    const args = ["--import", "tsx", fileURLToPath(import.meta.url), name, upstream];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    stops.push(() => child.kill());
    const [url] = await once(createInterface({ input: child.stdout }), "line");
    return url;
  };
  try {
    const upstream = await start("upstream");
    const bare = await start("bare", upstream);
    const router = await start("router", upstream);
    for (const url of [bare, router]) await load(url);
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const reference = await load(bare);
      ratios.push((await load(router)) / reference);
    }
    figure("a forwarded POST, against @fastify/reply-from doing the same bare", ratios, ">= 0.7");
  } finally {
    for (const stop of stops) stop();
  }
}

/** Requests answered in `seconds`. */
async function load(url: string): Promise<number> {
  const pool = new Pool(url, { connections, pipelining: 1 });
  const end = performance.now() + seconds * 1_000;
  let answered = 0;
  const one = async () => {
    while (performance.now() < end) {
      const response = await pool.request({ path: "/some/hook", method: "POST", headers, body });
      await response.body.dump();
      if (response.statusCode !== 200) throw new Error(`${url} answered ${response.statusCode}`);
      answered += 1;
    }
  };
  await Promise.all(Array.from({ length: connections }, one));
  await pool.close();
  return answered;
}
