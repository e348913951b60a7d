import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";

/**
 * The name of a running program that has one of these texts among its arguments, where every user of the machine can read
 * it; null where none has, undefined where the system does not show arguments as files. These files are in memory, and the
 * client waits: to read them at once takes milliseconds, by threads much longer on a busy machine.
 */
export function findArguments(texts: readonly string[]): string | null | undefined {
  const pids = listProcesses();
  if (pids.length === 0) return undefined;
  for (const pid of pids) {
    const line = readArguments(pid);
    if (texts.some((text) => line.includes(text))) return basename(line.split("\0")[0]!);
  }
  return null;
}

function listProcesses(): readonly string[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

/** Empty where the process has ended or is another user's. */
function readArguments(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
