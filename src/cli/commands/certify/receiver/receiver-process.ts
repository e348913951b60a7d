import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { withTimeout } from "../../../../base/timing.ts";
import type { Context } from "../../../command.ts";
import { CommandFailedError } from "../../../process/failure.ts";
import { canAnimate } from "../../../prompt/terminal.ts";
import { getPort, probePort } from "../../webhooks/registration.ts";
import { endProcessGroup, killProcessGroup, startProcessGroup } from "../process-group.ts";

export type ReceiverProcess = ReturnType<typeof createReceiverProcess>;

interface ReceiverOptions {
  readonly command: string;
  readonly url: string;
  readonly env: Record<string, string>;
  readonly readyTimeoutMs: number;
}

const defaultPollIntervalMs = 25;
const maxShutdownMs = 500;
/** Limit of the retained output, which the error of a failed start includes. */
const maxRetainedCharacters = 4_000;

/** Creates a receiver that a shell runs in its own process group. */
export function createReceiverProcess({ command, url, env, readyTimeoutMs }: ReceiverOptions, context: Context) {
  const { host, signal, output, globals, shutdown } = context;
  let child: ChildProcess | undefined;
  let exit: Promise<unknown> = Promise.resolve();
  let receiverOutput = "";
  let stopTimeoutMs = maxShutdownMs;
  shutdown.onForcedExit(() => child && killProcessGroup(child, "SIGKILL"));

  /** Describes the exit of the process, such as `exit code 3`. Returns undefined while the process runs. */
  const describeExit = () => {
    const { exitCode = null, signalCode = null } = child ?? {};
    return signalCode ?? (exitCode === null ? undefined : `exit code ${exitCode}`);
  };

  async function waitUntilListening(): Promise<void> {
    const startedAt = host.wall.monotonicNow();
    const text = `Waiting until the receiver listens at ${url}`;
    let shownSeconds = 0;
    while (!(await isListening(url, signal))) {
      const end = describeExit();
      if (end !== undefined)
        throw createNotStartedError(`ended with ${end} before it listened at ${url}`, receiverOutput);
      const elapsedMs = host.wall.monotonicNow() - startedAt;
      if (elapsedMs > readyTimeoutMs)
        throw createNotStartedError(`does not listen at ${url} after ${readyTimeoutMs / 1_000} s`, receiverOutput);
      const seconds = Math.floor(elapsedMs / 1_000);
      if (seconds > shownSeconds && canAnimate(context)) await output.showStatus(`${text}: ${seconds} s`);
      else if (seconds > 0 && shownSeconds === 0) await output.note(`${text}, for at most ${readyTimeoutMs / 1_000} s`);
      shownSeconds = seconds;
      await host.wall.sleep(defaultPollIntervalMs, signal);
    }
    await output.showStatus(undefined);
  }

  return {
    describeExit,

    /**
     * Waits briefly for the exit after a broken connection, because a process closes its connections before it ends.
     */
    async getEndAfterBreak() {
      await withTimeout(host.wall, stopTimeoutMs, exit, signal);
      const end = describeExit();
      // The receiver closed the connection without ending, so later waits are shorter.
      if (end === undefined) stopTimeoutMs /= 2;
      return end;
    },

    async start() {
      if (await isListening(url, signal)) {
        throw new CommandFailedError("failed", "port_taken", `Another program already listens at ${url}.`, {
          hint: "Stop it, or omit --command and set its key with --hmac-key-file.",
        });
      }
      receiverOutput = "";
      const startedChild = startProcessGroup(command, { cwd: host.cwd, env: { ...env, PORT: String(getPort(url)) } });
      child = startedChild;
      exit = once(startedChild, "exit").catch(() => {});
      for (const stream of [startedChild.stdout, startedChild.stderr]) {
        stream?.on("data", (bytes: Buffer) => {
          const text = bytes.toString("utf8");
          receiverOutput = (receiverOutput + text).slice(-maxRetainedCharacters);
          if (globals.verbose) for (const line of text.trimEnd().split("\n")) void output.note(`receiver: ${line}`);
        });
      }
      await waitUntilListening();
    },

    /** Stops the receiver and all its child processes. */
    async stop() {
      const endedChild = child;
      if (!endedChild) return;
      const grace = { wall: host.wall, graceMs: maxShutdownMs, signal: context.forceSignal };
      await endProcessGroup(endedChild, exit, grace);
      await exit;
      const deadlineMs = host.wall.monotonicNow() + maxShutdownMs;
      while ((await isListening(url)) && host.wall.monotonicNow() < deadlineMs)
        await host.wall.sleep(defaultPollIntervalMs);
      child = undefined;
      endedChild.stdout?.destroy();
      endedChild.stderr?.destroy();
    },
  };
}

function createNotStartedError(failure: string, receiverOutput: string): CommandFailedError {
  // The message of a Node.js or Java error precedes its stack.
  const lines = receiverOutput
    .split("\n")
    .filter((line) => !/^\s*(?:at |$)/.test(line))
    .slice(-8)
    .join(" | ");
  return new CommandFailedError("failed", "receiver_not_started", `The receiver of --command ${failure}.`, {
    hint: lines === "" ? "It must listen at the address of --to. PORT holds the port." : `It printed: ${lines}`,
  });
}

/** A receiver can be on another machine, where a lost packet is sent again after one and three seconds. */
const maxConnectMs = 5_000;

/** Reports whether a program accepts connections at this address. Rejects if the signal aborts. */
export async function isListening(url: string, signal?: AbortSignal): Promise<boolean> {
  const state = await probePort(url, { timeout: maxConnectMs, ...(signal && { signal }) });
  signal?.throwIfAborted();
  return state === "open";
}
