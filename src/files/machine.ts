import { createHash } from "node:crypto";
import { chmod, lstat, open, readFile, readlink } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { basename, dirname } from "node:path";

/** Location of a process, as far as the system shows it. Beyond Linux only the name of the machine is known. */
export interface Machine {
  /** Its host name; each container has one of its own. */
  readonly machine: string;
  /** A fingerprint of the id that its installation has. */
  readonly machine_id?: string | undefined;
  /** New each time the kernel starts, and the same in all containers of one kernel. */
  readonly boot?: string | undefined;
  /** Within which a pid means a process. */
  readonly pid_namespace?: string | undefined;
}

let known: Promise<Machine> | undefined;

/** Location of this process. */
export function thisMachine(): Promise<Machine> {
  known ??= look();
  return known;
}

async function look(): Promise<Machine> {
  const [id, boot, pid_namespace] = await Promise.all([
    textOf("/etc/machine-id"),
    textOf("/proc/sys/kernel/random/boot_id"),
    readlink("/proc/self/ns/pid").catch(() => undefined),
  ]);
  // The id itself is not for files that others may see (machine-id(5)).
  const machine_id = id && createHash("sha256").update(`svc ${id}`).digest("hex").slice(0, 16);
  return { machine: hostname(), machine_id, boot, pid_namespace };
}

/** One word for all of it: whether a foreign pid means a process here. */
export async function fingerprintMachine(): Promise<string> {
  const { machine, machine_id, boot, pid_namespace } = await thisMachine();
  const whole = JSON.stringify([machine, machine_id, boot, pid_namespace]);
  return createHash("sha256").update(whole).digest("hex").slice(0, 16);
}

/** Whether a URL leads to an address of this machine. */
export function isOnThisMachine(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const name = new URL(url).hostname.replace(/^\[|\]$/g, "");
  if (name === "localhost" || /^127(\.\d+){3}$/.test(name) || ["::1", "0.0.0.0", "::"].includes(name)) return true;
  if (name === hostname().toLowerCase()) return true;
  return Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === name));
}

/** Whether a process with that pid runs. One that has ended does not, though its parent has not asked how. */
export async function processExists(pid: number): Promise<boolean> {
  if (!(pid > 0) || !exists(pid)) return false;
  // In a namespace of its own without a /proc of its own, the pids there are those of others.
  const isOurs = (await readlink("/proc/self").catch(() => undefined)) === String(process.pid);
  const stat = isOurs ? await textOf(`/proc/${pid}/stat`) : undefined;
  // The name, in parentheses, may hold anything. The 3rd field is the state, the 20th the number of threads (proc(5)).
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return !(fields && /^[ZXx]$/.test(fields[0]!) && Number(fields[17]) <= 1);
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/** Listens at that path until it is closed or the process ends. Undefined if the system or the disk has no sockets. */
export async function listenForProbes(path: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  const listens = await withAddress(path, (address) => {
    return new Promise<boolean>((settle) => {
      server.once("error", () => settle(false));
      server.listen(address, () => settle(true));
    });
  });
  if (!listens) return undefined;
  // Only its owner may connect, whatever the umask allows others.
  await chmod(path, 0o600).catch(() => {});
  return server.on("error", () => {}).unref();
}

/** Asks the kernel whether the process that opened a socket lives. One that was stopped or is busy lives. */
export async function probeLiveness(path: string): Promise<"alive" | "gone" | "unknown"> {
  // A connection to a regular file is rejected too.
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
  // EAGAIN: it listens, and many wait before us.
  return code === "connected" || code === "EAGAIN" ? "alive" : "unknown";
}

/** Uses the path or, if it is too long for the address of a socket, the way to it through its open folder. */
async function withAddress<T>(path: string, use: (address: string) => Promise<T>): Promise<T | undefined> {
  if (process.platform === "win32") return undefined;
  // The limit of macOS, which allows the fewest bytes: 104 with the zero at the end.
  if (Buffer.byteLength(path) < 104) return use(path);
  const folder = process.platform === "linux" ? await open(dirname(path)).catch(() => undefined) : undefined;
  return folder && use(`/proc/self/fd/${folder.fd}/${basename(path)}`).finally(() => folder.close());
}

const textOf = (path: string): Promise<string | undefined> =>
  readFile(path, "utf8").then(
    (text) => text.trim() || undefined,
    () => undefined,
  );
