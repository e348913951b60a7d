import { type AddressInfo, createServer, type Socket } from "node:net";
import type { TestContext } from "node:test";

export interface MisbehavingServer {
  readonly url: string;
  /** Returns the bytes that the clients or the buffers accepted, on all connections so far. */
  countAcceptedBytes(): number;
  /** Returns the number of open connections. */
  open(): number;
}

/** A raw connection of the misbehaving server. */
export interface RawConnection {
  write(text: string | Buffer): void;
  /** Writes the piece repeatedly, as fast as the client reads. */
  flood(piece: string | Buffer): void;
}

/**
 * Starts a server on bare sockets that runs the same script for every request, after reading the request's head. The
 * server is closed when the test ends.
 */
export async function startMisbehavingServer(
  t: Pick<TestContext, "after">,
  play: (play: RawConnection) => void,
): Promise<MisbehavingServer> {
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
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    countAcceptedBytes: () => sent,
    open: () => sockets.size,
  };
}
