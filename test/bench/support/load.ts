import { Pool } from "undici";

export interface Load {
  readonly url: string;
  readonly path: string;
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  /** Several: one for each request, in turn. */
  readonly body?: string | readonly string[];
  readonly connections: number;
  /** How many requests in all. */
  readonly count: number;
  /** The status that every answer must have. */
  readonly status?: number;
}

/** Sends requests over a number of connections, one at a time on each. Resolves with the milliseconds it took. */
export async function send({ url, path, connections, count, status = 200, ...rest }: Load): Promise<number> {
  const pool = new Pool(url, { connections, pipelining: 1 });
  let sent = 0;
  const one = async () => {
    while (sent < count) {
      const { method = "GET", headers = {}, body = null } = rest;
      const own = typeof body === "object" && body ? body[sent % body.length]! : body;
      sent += 1;
      const response = await pool.request({ path, method, headers, body: own });
      if (response.statusCode !== status) {
        throw new Error(`${method} ${path}: ${response.statusCode} ${await response.body.text()}`);
      }
      await response.body.dump();
    }
  };
  const begin = performance.now();
  await Promise.all(Array.from({ length: connections }, one));
  const took = performance.now() - begin;
  await pool.close();
  return took;
}
