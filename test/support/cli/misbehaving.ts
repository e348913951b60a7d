import { type AddressInfo, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";

export interface Misbehaving {
  readonly url: string;
  /** Bytes that the other end has taken, or that lie in the buffers between, from all connections so far. */
  sent(): number;
  /** How many connections are open. */
  open(): number;
}

/** One connection of a server that does as it likes. */
export interface Play {
  write(text: string | Buffer): void;
  /** Writes it again and again, as fast as the other end takes it. */
  flood(piece: string | Buffer): void;
}

/**
 * A server on bare sockets that plays the same to every request. Reads the request's head first; stops when the test
 * ends.
 */
export async function misbehaving(t: Pick<TestContext, "after">, play: (play: Play) => void): Promise<Misbehaving> {
  const sockets = new Set<Socket>();
  let sent = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    const write = (text: string | Buffer) => {
      sent += Buffer.byteLength(text);
      return socket.write(text);
    };
    socket.once("data", () => {
      socket.resume();
      play({
        write: (text) => void write(text),
        flood(piece) {
          const large = Buffer.from(piece.toString("latin1").repeat(Math.ceil(65_536 / piece.length)), "latin1");
          const on = () => {
            while (!socket.destroyed && write(large));
          };
          socket.on("drain", on);
          on();
        },
      });
    });
  });
  await new Promise<void>((up) => server.listen(0, "127.0.0.1", up));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent: () => sent,
    open: () => sockets.size,
  };
}
