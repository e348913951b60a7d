import { createHash } from "node:crypto";
import { type LookupOptions, lookup } from "node:dns";
import { chmod, lstat, open, readFile, readlink } from "node:fs/promises";
import { connect, createServer, type LookupFunction, type Server } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { basename, dirname } from "node:path";

/**
 * Location of a process, as far as the system reports it. On systems other than Linux, only the machine name is known.
 */
export interface Machine {
  /** Host name. Each container has its own. */
  readonly machine: string;
  readonly machine_id?: string | undefined;
  /** Boot ID, which is new each time the kernel starts and the same in all containers of one kernel. */
  readonly boot?: string | undefined;
  /** Namespace in which a pid identifies a process. */
  readonly pid_namespace?: string | undefined;
}

export async function identifyMachine(): Promise<Machine> {
  const [id, boot, pid_namespace] = await Promise.all([
    readText("/etc/machine-id"),
    readText("/proc/sys/kernel/random/boot_id"),
    readlink("/proc/self/ns/pid").catch(() => undefined),
  ]);
  // Files that others can read must not contain the machine ID itself (machine-id(5)).
  const machine_id = id && createHash("sha256").update(`svc ${id}`).digest("hex").slice(0, 16);
  return { machine: hostname(), machine_id, boot, pid_namespace };
}

/** Returns a comparable string of all fields. Processes with equal strings can identify each other by pid. */
export async function fingerprintMachine(): Promise<string> {
  const { machine, machine_id, boot, pid_namespace } = await identifyMachine();
  const comparable = JSON.stringify([machine, machine_id, boot, pid_namespace]);
  return createHash("sha256").update(comparable).digest("hex").slice(0, 16);
}

export function isOnThisMachine(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const name = new URL(url).hostname.replace(/^\[|\]$|\.$/g, "");
  // The last form is an IPv4 address in an IPv6 address.
  if (/(^|\.)localhost$|^127(\.\d+){3}$|^::ffff:7f[\da-f]{2}:[\da-f]+$/.test(name)) return true;
  if (["::1", "0.0.0.0", "::"].includes(name)) return true;
  if (name === hostname().toLowerCase()) return true;
  return Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === name));
}

/**
 * Resolves a name as the system does. A name below `localhost` that the system does not know is this machine, as in
 * browsers and curl (RFC 6761, 6.3).
 */
export const lookupHost = ((hostname: string, options: LookupOptions, callback: Parameters<LookupFunction>[2]) =>
  lookup(hostname, options, (error, ...addresses) =>
    error && /\.localhost\.?$/i.test(hostname) ? lookup("localhost", options, callback) : callback(error, ...addresses),
  )) as typeof lookup;

/** Reports whether a process with that pid is running. A zombie is not. */
export async function processExists(pid: number): Promise<boolean> {
  if (!(pid > 0) || !hasProcess(pid)) return false;
  // In a namespace without its own /proc, the pids in /proc belong to other processes.
  const isOurs = (await readlink("/proc/self").catch(() => undefined)) === String(process.pid);
  const stat = isOurs ? await readText(`/proc/${pid}/stat`) : undefined;
  // The name, in parentheses, can contain any characters. The 3rd field is the state, the 20th the number of threads
  // (proc(5)).
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return !(fields && /^[ZXx]$/.test(fields[0]!) && Number(fields[17]) <= 1);
}

function hasProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/**
 * Listens at that path until the server is closed or the process ends. Returns undefined if the system or the disk does
 * not support sockets.
 */
export async function listenForProbes(path: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  const listens = await withAddress(path, (address) => {
    return new Promise<boolean>((settle) => {
      server.once("error", () => settle(false));
      server.listen(address, () => settle(true));
    });
  });
  if (!listens) return undefined;
  // Only the owner can connect, regardless of the umask.
  await chmod(path, 0o600).catch(() => {});
  return server.on("error", () => {}).unref();
}

/**
 * Reports whether the process that opened a socket is alive. The kernel replies, so a stopped or busy process is alive.
 */
export async function probeLiveness(path: string): Promise<"alive" | "gone" | "unknown"> {
  // A connection to a regular file is also rejected.
  if (!(await lstat(path).catch(() => undefined))?.isSocket()) return "unknown";
  const code = await withAddress(path, (address) => {
    const socket = connect(address);
    return new Promise<string | undefined>((settle) => {
      socket
        .once("connect", () => settle("connected"))
        .once("error", (error) => settle((error as NodeJS.ErrnoException).code));
    }).finally(() => socket.destroy());
  });
  if (code === "ECONNREFUSED") return "gone";
  // EAGAIN means that the process listens and that its queue is full.
  return code === "connected" || code === "EAGAIN" ? "alive" : "unknown";
}

/** Uses the path or, if the path is too long for a socket address, a path through its open folder. */
async function withAddress<T>(path: string, use: (address: string) => Promise<T>): Promise<T | undefined> {
  if (process.platform === "win32") return undefined;
  // macOS has the lowest limit: 104 bytes, including the terminating NUL.
  if (Buffer.byteLength(path) < 104) return use(path);
  const folder = process.platform === "linux" ? await open(dirname(path)).catch(() => undefined) : undefined;
  return folder && use(`/proc/self/fd/${folder.fd}/${basename(path)}`).finally(() => folder.close());
}

const readText = (path: string): Promise<string | undefined> =>
  readFile(path, "utf8").then(
    (text) => text.trim() || undefined,
    () => undefined,
  );
