import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { finished } from "node:stream/promises";

/** Runs programs as a user starts them, each in a separate process, and measures their resources. */

/** Number of lines per write. */
const atOnce = 1_000;

/** Writes a file of many lines in chunks. */
export async function writeLines(path: string, count: number, line: (i: number) => string): Promise<void> {
  const stream = createWriteStream(path);
  for (let at = 0; at < count; at += atOnce) {
    const lines = Array.from({ length: Math.min(atOnce, count - at) }, (_, i) => line(at + i)).join("");
    if (!stream.write(lines)) await once(stream, "drain");
  }
  stream.end();
  await finished(stream);
}

/** A process that runs until it is stopped. */
export interface RunningProgram {
  readonly line: string;
  readonly stop: () => void;
  readonly cpuMs: () => number;
}

/** Starts a process that prints a line when it is ready. */
export async function startProgram(args: string[], stops: (() => void)[], env = {}): Promise<RunningProgram> {
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  const stop = () => void child.kill();
  stops.push(stop);
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return { line, stop, cpuMs: () => readCpuMs(child.pid!) };
}

/**
 * Measures the wall time, the processor time and the peak memory of a process. The last two are available only on some
 * systems.
 */
export async function measureProgram(
  args: string[],
  state = "",
): Promise<{ ms: number; cpuMs: number; peakMb: number }> {
  const begin = performance.now();
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, SVC_STATE_DIR: join(state, "jobs"), CI: "1" },
  });
  let peakMb = 0;
  let cpuMs = 0;
  const look = setInterval(() => {
    peakMb = Math.max(peakMb, readPeakMb(child.pid!));
    cpuMs = Math.max(cpuMs, readCpuMs(child.pid!));
  }, 20);
  const [code] = await once(child, "exit");
  clearInterval(look);
  if (code !== 0) throw new Error(`${args.join(" ")} exited ${code}`);
  return { ms: performance.now() - begin, cpuMs, peakMb };
}

/** Returns the processor time of all threads in ms. One tick is 10 ms. */
function readCpuMs(pid: number): number {
  try {
    const [user = 0, system = 0] = readFileSync(`/proc/${pid}/stat`, "utf8").split(" ").slice(13, 15).map(Number);
    return (user + system) * 10;
  } catch {
    return 0;
  }
}

function readPeakMb(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
}
