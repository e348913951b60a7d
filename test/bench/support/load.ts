import { Pool } from "undici";

export interface Load {
  readonly url: string;
  /** Path of the requests. With several, each request uses the next in turn, and the same applies to bodies. */
  readonly path: string | readonly string[];
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | readonly string[];
  readonly connections: number;
  /** Total number of requests. */
  readonly count: number;
  /** Required status of each response. */
  readonly status?: number;
}

/**
 * Sends requests over several connections, one at a time per connection. Resolves with the duration in milliseconds.
 */
export async function sendLoad({ url, path, connections, count, status = 200, ...rest }: Load): Promise<number> {
  const pool = new Pool(url, { connections, pipelining: 1 });
  let sent = 0;
  const sendRequests = async () => {
    while (sent < count) {
      const { method = "GET", headers = {}, body = null } = rest;
      const index = pickInTurn(path, sent);
      const requestBody = body && pickInTurn(body, sent);
      sent += 1;
      const response = await pool.request({ path: index, method, headers, body: requestBody });
      if (response.statusCode !== status) {
        throw new Error(`${method} ${index}: ${response.statusCode} ${await response.body.text()}`);
      }
      await response.body.dump();
    }
  };
  const begin = performance.now();
  await Promise.all(Array.from({ length: connections }, sendRequests));
  const took = performance.now() - begin;
  await pool.close();
  return took;
}

const pickInTurn = (paths: string | readonly string[], index: number): string =>
  typeof paths === "string" ? paths : paths[index % paths.length]!;
