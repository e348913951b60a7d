import type { Context } from "../../command.ts";
import { listeningAt, wayToEnd } from "../../connection/listening.ts";
import { readRunFile, runFileOf } from "../../connection/run-file.ts";
import { CommandFailed } from "../../failure.ts";

const another = "Choose another with --port, or --port 0 for free ones.";

/**
 * What to say where a port is taken: mostly it is the emulator of this very folder, started before, or one of another.
 * `state` is that beside which it would have told of itself.
 */
export async function portTaken(
  { port = 0, state, cause }: { port: number | undefined; state: string | undefined; cause: unknown },
  { host }: Context,
): Promise<CommandFailed> {
  const runFile = state === undefined ? undefined : await runFileOf(state);
  const running = runFile === undefined ? undefined : await readRunFile(runFile);
  if (running && (await listeningAt(running.routerUrl))?.instance_id === running.instanceId) {
    return new CommandFailed(
      "failed",
      "already_running",
      `An emulator runs on ${state} already: ${running.routerUrl}.`,
      {
        hint: "Use that one, or stop it with svc emulator stop.",
        next: ["emulator", "status", "--file", state!],
        cause,
      },
    );
  }
  const taken = (who: string, hint: string) =>
    new CommandFailed("failed", "port_taken", `${who} listens on port ${port} or the ones after it already.`, {
      hint,
      cause,
    });
  const address = `http://127.0.0.1:${port}`;
  const found = await listeningAt(address);
  if (found === undefined) return taken("Something", another);
  const way = await wayToEnd(found, address);
  if (way.isLost && way.runFile === runFile) {
    const who = `An emulator on ${state}, whose files were removed while it ran,`;
    return taken(who, `No command reaches it any more: ${way.words}. ${another}`);
  }
  const how = isAt(host.env.SVC_EMULATOR_URL, address)
    ? "The variables of this shell lead to it: svc emulator stop ends it."
    : `${way.words}.`;
  return taken("An emulator with another state", `${how} ${another}`);
}

const isAt = (url: string | undefined, address: string): boolean =>
  url !== undefined && URL.canParse(url) && new URL(url).origin === address;
