import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** Starts a proxy of a server on a Unix socket. It forwards everything until it is stalled. */
export async function startStallingProxy(t: Pick<TestContext, "after">, server: { readonly folder: string }) {
  const folder = mkdtempSync(join(tmpdir(), "svc-proxy-"));
  chmodSync(folder, 0o755);
  const sockets = new Set<Socket>();
  let isStalled = false;
  const proxy = createServer((near) => {
    const far = connect(join(server.folder, ".s.PGSQL.5432"));
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => to.write(bytes));
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      if (isStalled) from.pause();
    }
  });
  await new Promise<void>((listening) => proxy.listen(join(folder, ".s.PGSQL.5432"), listening));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    folder,
    stall() {
      isStalled = true;
      for (const socket of sockets) socket.pause();
    },
    goOn() {
      isStalled = false;
      for (const socket of sockets) socket.resume();
    },
  };
}
