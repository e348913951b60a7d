import { constants } from "node:fs";
import { chmod, type FileHandle, lstat, open, rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { basename, dirname } from "node:path";

/**
 * A socket that lives as long as its process: the kernel itself says whether anybody listens there, whatever became of
 * pids, and also across the containers of one machine that share the folder. It is the lock of the operating system
 * that can be had without native code.
 */
export interface LivenessSocket {
  close(): Promise<void>;
}

/** What the kernel says of a socket: somebody listens, nobody does any more, or there is no saying. */
export type ProbeResult = "answered" | "refused" | "unknown";

/** Of an address, on the system that allows the fewest bytes (macOS: 104 with the zero at its end). */
const longestAddress = 103;

/** Listens at that path until it is closed or the process ends. Undefined where the system or the disk has no sockets. */
export async function openLivenessSocket(path: string): Promise<LivenessSocket | undefined> {
  if (process.platform === "win32") return undefined;
  const address = await addressOf(path);
  if (address === undefined) return undefined;
  const server = createServer((socket) => socket.destroy());
  const listens = await new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(address.address, () => resolve(true));
  });
  if (!listens) {
    await address.done();
    return undefined;
  }
  // Who knocks is its owner, whatever the umask allows others.
  await chmod(path, 0o600).catch(() => {});
  server.on("error", () => {}); // What it says of a single connection is of no interest.
  server.unref();
  return {
    async close() {
      await new Promise((resolve) => server.close(resolve));
      await address.done();
      await rm(path, { force: true });
    },
  };
}

/** Asks the kernel whether the process that opened a socket lives. One that was stopped or is busy lives. */
export async function probeLiveness(path: string): Promise<ProbeResult> {
  const found = await lstat(path).catch(() => undefined);
  // A connection to what is no socket is refused too.
  if (!found?.isSocket()) return "unknown";
  const address = await addressOf(path);
  if (address === undefined) return "unknown";
  const answer = await new Promise<ProbeResult>((resolve) => {
    const socket = connect(address.address);
    socket.once("connect", () => {
      socket.destroy();
      resolve("answered");
    });
    socket.once("error", ({ code }: NodeJS.ErrnoException) => {
      // EAGAIN: it listens, and many wait before us.
      resolve(code === "ECONNREFUSED" ? "refused" : code === "EAGAIN" ? "answered" : "unknown");
    });
  });
  await address.done();
  return answer;
}

interface Address {
  readonly address: string;
  done(): Promise<void>;
}

/** The path or, where it is too long for an address, the way to it through its open folder. */
async function addressOf(path: string): Promise<Address | undefined> {
  if (Buffer.byteLength(path) <= longestAddress) return { address: path, done: async () => {} };
  let folder: FileHandle;
  try {
    folder = await open(dirname(path), constants.O_RDONLY);
  } catch {
    return undefined;
  }
  const address = `/proc/self/fd/${folder.fd}/${basename(path)}`;
  if (process.platform === "linux" && Buffer.byteLength(address) <= longestAddress) {
    return { address, done: () => folder.close() };
  }
  await folder.close();
  return undefined;
}
