import type { Context } from "../../command.ts";
import { findStopInstructions, probeListener } from "../../connection/listener.ts";
import { readRunFile, resolveRunFile } from "../../connection/run-file.ts";
import { CommandFailedError } from "../../failure.ts";

const another = "Choose another port with --port, or use --port 0 for free ports.";

/** What to say where an emulator runs on a state already and answers; undefined where none does. */
export async function createAlreadyRunningError(
  state: string,
  cause: unknown,
): Promise<CommandFailedError | undefined> {
  const running = await readRunFile(await resolveRunFile(state));
  if (!running || (await probeListener(running.routerUrl))?.instance_id !== running.instanceId) return undefined;
  const message = `An emulator is already running: ${running.routerUrl} (state: ${state}).`;
  return new CommandFailedError("failed", "already_running", message, {
    hint: "Use it, or stop it with svc emulator stop.",
    next: ["emulator", "status", "--file", state],
    cause,
  });
}

/**
 * What to say where a port is taken by something else than the emulator of this very state, beside which it would have told
 * of itself.
 */
export async function createPortTakenError(
  { port = 0, state, cause }: { port: number | undefined; state: string | undefined; cause: unknown },
  { host }: Context,
): Promise<CommandFailedError> {
  const runFile = state === undefined ? undefined : await resolveRunFile(state);
  const taken = (who: string, hint: string) =>
    new CommandFailedError("failed", "port_taken", `${who} already listens on port ${port} or a following port.`, {
      hint,
      cause,
    });
  const address = `http://127.0.0.1:${port}`;
  const found = await probeListener(address);
  if (found === undefined) return taken("Another program", another);
  const way = await findStopInstructions(found, address);
  if (way.isLost && way.runFile === runFile) {
    const who = `An emulator whose files were removed (state: ${state})`;
    return taken(who, `Commands cannot reach it. ${way.words}. ${another}`);
  }
  const how = isAt(host.env.SVC_EMULATOR_URL, address)
    ? "The variables of this shell point to it. To stop it, run svc emulator stop."
    : `${way.words}.`;
  return taken("An emulator with another state", `${how} ${another}`);
}

const isAt = (url: string | undefined, address: string): boolean =>
  url !== undefined && URL.canParse(url) && new URL(url).origin === address;
