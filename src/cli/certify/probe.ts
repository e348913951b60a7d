import { spawn } from "node:child_process";
import { CommandFailed } from "../failure.ts";
import type { Host } from "../host.ts";

/** The command that prints what the receiver has stored. */
export interface Probe {
  /** What it prints now. Fails where it does. */
  read(): Promise<string>;
  /** What it prints once that differs from `before`; undefined where it stays the same for `patienceMs`. */
  readChanged(before: string, patienceMs: number): Promise<string | undefined>;
}

const maxMs = 5_000;
const maxBytes = 1024 * 1024;
const intervalMs = 100;

/** A probe that the shell runs. */
export function createProbe(
  command: string,
  { host, env, signal }: { readonly host: Host; readonly env: Record<string, string>; readonly signal: AbortSignal },
): Probe {
  const read = () => runProbe(command, { host, env, signal });
  return {
    read,
    async readChanged(before, patienceMs) {
      const until = host.wall.monotonicNow() + patienceMs;
      for (;;) {
        const now = await read();
        if (now !== before) return now;
        if (host.wall.monotonicNow() >= until || signal.aborted) return undefined;
        await host.wall.sleep(intervalMs, signal);
      }
    },
  };
}

function runProbe(
  command: string,
  { host, env, signal }: { readonly host: Host; readonly env: Record<string, string>; readonly signal: AbortSignal },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const ended = new AbortController();
    const child = spawn(command, { cwd: host.cwd, env, shell: true, stdio: ["ignore", "pipe", "ignore"] });
    const chunks: Buffer[] = [];
    let size = 0;
    const fail = (why: string, cause?: Error) => {
      ended.abort();
      child.kill("SIGKILL");
      child.stdout.destroy();
      reject(
        new CommandFailed("failed", "probe_failed", `The command of --probe ${why}.`, {
          hint: "It must print what the receiver has stored, and exit with 0.",
          cause,
        }),
      );
    };
    child.stdout.on("data", (bytes: Buffer) => {
      chunks.push(bytes);
      size += bytes.length;
      if (size > maxBytes) fail("prints more than 1 MiB");
    });
    child.once("error", (error) => fail("cannot run", error));
    child.once("close", (code) => {
      if (ended.signal.aborted) return;
      if (code !== 0) return fail(code === null ? "was killed" : `exits with ${code}`);
      ended.abort();
      resolve(Buffer.concat(chunks).toString("utf8"));
    });
    void host.wall.sleep(maxMs, AbortSignal.any([ended.signal, signal])).then(() => {
      if (!ended.signal.aborted) fail(signal.aborted ? "was interrupted" : `takes more than ${maxMs / 1_000} s`);
    });
  });
}
