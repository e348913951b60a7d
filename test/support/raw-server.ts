import net from "node:net";
import type { TestContext } from "node:test";

export interface RawServer {
  readonly url: string;
  /** Requests as received. */
  readonly received: readonly string[];
  /** Returns the number of connections so far. */
  connections(): number;
  /** Sets the bytes of the next responses, with one write per string. */
  respond(...texts: readonly string[]): void;
}

/** Starts a server that responds to each request with exactly these bytes, even if they are invalid HTTP. */
export async function startRawServer(t: Pick<TestContext, "after">, ...texts: readonly string[]): Promise<RawServer> {
  const received: string[] = [];
  let responseTexts = texts;
  let count = 0;
  const sockets = new Set<net.Socket>();
  const server = net.createServer({ noDelay: true }, (socket) => {
    count += 1;
    sockets.add(socket);
    let text = "";
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", async (chunk) => {
      text += chunk.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      if (end < 0 || text.length < end + 4 + Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)) return;
      received.push(text);
      text = "";
      for (const part of responseTexts) {
        await new Promise<void>((resolve) => socket.write(Buffer.from(part, "latin1"), () => setImmediate(resolve)));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    received,
    connections: () => count,
    respond: (...next) => {
      responseTexts = next;
    },
  };
}
