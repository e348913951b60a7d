import { once } from "node:events";
import { createReadStream } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { Pool } from "undici";

/** The bare parties for bulk.ts: `server`, and `sender BODIES URL CONNECTIONS PATH`. */
const [role, bodies = "", url = "", connections = "", path = ""] = process.argv.slice(2);
await (role === "server" ? serve() : send());

async function serve(): Promise<void> {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      // The command line first requests the list of clusters, and continues without it.
      if (request.method !== "POST") return void response.writeHead(404).end();
      const { email_hash_list: list } = JSON.parse(Buffer.concat(pieces).toString());
      response.setHeader("content-type", "application/json").end(String(list.length > 0));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
}

/** Sends one body per line. */
async function send(): Promise<void> {
  const pool = new Pool(url, { connections: Number(connections) });
  const lines = createInterface({ input: createReadStream(bodies) })[Symbol.asyncIterator]();
  const worker = async () => {
    for (let line = await lines.next(); !line.done; line = await lines.next()) {
      const headers = { "content-type": "application/json" };
      const response = await pool.request({ path, method: "POST", headers, body: line.value });
      await response.body.json();
    }
  };
  await Promise.all(Array.from({ length: Number(connections) }, worker));
  await pool.close();
}
