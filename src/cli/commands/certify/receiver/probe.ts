import { spawn } from "node:child_process";
import { CommandFailedError } from "../../../process/failure.ts";
import type { Host } from "../../../process/host.ts";
import { hasProcessGroups, killProcessGroup } from "../check.ts";

export type ReceiverProbe = ReturnType<typeof createProbe>;

interface ProbeOptions {
  readonly host: Host;
  readonly env: Record<string, string>;
  readonly signal: AbortSignal;
}

const maxProbeMs = 5_000;
const maxOutputBytes = 1024 * 1024;
const defaultPollIntervalMs = 100;
/** Maximum delay of a receiver that stores events immediately. */
const maxImmediateMs = 150;
const defaultWaitMs = 2_000;
/** Minimum wait before the output counts as unchanged. */
const minQuietMs = 300;
const maxQuietMs = 1_500;

export function createProbe(command: string, options: ProbeOptions) {
  const { signal, host } = options;
  const read = () => runProbe(command, options);
  let slowestMs = 0;
  /** Output when no event was being processed. */
  let settledOutput: string | undefined;

  /** Waits for the first output that differs from `before`. Returns undefined if it does not change in time. */
  async function readChanged(before: string, waitMs = defaultWaitMs): Promise<string | undefined> {
    const startedAt = host.wall.monotonicNow();
    for (;;) {
      const elapsedMs = host.wall.monotonicNow() - startedAt;
      const output = await read();
      if (output !== before) {
        slowestMs = Math.max(slowestMs, elapsedMs);
        settledOutput = undefined;
        return output;
      }
      if (elapsedMs >= waitMs || signal.aborted) return undefined;
      await host.wall.sleep(defaultPollIntervalMs, signal);
    }
  }

  const getQuietMs = () => Math.min(maxQuietMs, Math.max(minQuietMs, 1.2 * slowestMs));

  /** Waits until processing has ended. The wait depends on the duration of previous events. */
  async function readSettled(): Promise<string> {
    let output = await read();
    while (slowestMs >= maxImmediateMs && output !== settledOutput) {
      const next = await readChanged(output, getQuietMs());
      if (next === undefined) settledOutput = output;
      output = next ?? output;
    }
    return output;
  }

  return {
    read,
    readChanged,
    readSettled,
    /** Reports whether the output equals `before` for the usual duration of an event. */
    async staysSame(before: string): Promise<boolean> {
      const isSame = (await readChanged(before, getQuietMs())) === undefined;
      if (isSame) settledOutput = before;
      return isSame;
    },
  };
}

function runProbe(command: string, { host, env, signal }: ProbeOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const probeEnd = new AbortController();
    const child = spawn(command, {
      cwd: host.cwd,
      env,
      shell: true,
      detached: hasProcessGroups,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const chunks: Buffer[] = [];
    let size = 0;
    const fail = (reason: string, cause?: Error) => {
      probeEnd.abort();
      killProcessGroup(child, "SIGKILL");
      child.stdout.destroy();
      reject(
        new CommandFailedError("failed", "probe_failed", `The command of --probe ${reason}.`, {
          hint: "It must print what the receiver has stored, and exit with 0.",
          cause,
        }),
      );
    };
    child.stdout.on("data", (bytes: Buffer) => {
      chunks.push(bytes);
      size += bytes.length;
      if (size > maxOutputBytes) fail("prints more than 1 MiB");
    });
    child.once("error", (error) => fail("cannot run", error));
    child.once("close", (code) => {
      if (probeEnd.signal.aborted) return;
      // Child processes can outlive the shell.
      killProcessGroup(child, "SIGKILL");
      if (code !== 0) return fail(code === null ? "was killed" : `exits with ${code}`);
      probeEnd.abort();
      resolve(Buffer.concat(chunks).toString("utf8"));
    });
    void host.wall.sleep(maxProbeMs, AbortSignal.any([probeEnd.signal, signal])).then(() => {
      if (!probeEnd.signal.aborted)
        fail(signal.aborted ? "was interrupted" : `takes more than ${maxProbeMs / 1_000} s`);
    });
  });
}
