import { Pool } from "undici";

export interface Load {
  readonly url: string;
  /** Several: one for each request, in turn; the same goes for bodies. */
  readonly path: string | readonly string[];
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
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
      const at = turn(path, sent);
      const own = body && turn(body, sent);
      sent += 1;
      const response = await pool.request({ path: at, method, headers, body: own });
      if (response.statusCode !== status) {
        throw new Error(`${method} ${at}: ${response.statusCode} ${await response.body.text()}`);
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

const turn = (given: string | readonly string[], at: number): string =>
  typeof given === "string" ? given : given[at % given.length]!;
