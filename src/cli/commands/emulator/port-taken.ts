import type { Context } from "../../command.ts";
import { openClient } from "../../connection/http.ts";
import { readRunFile, runFileOf } from "../../connection/run-file.ts";
import { CommandFailed } from "../../failure.ts";

/** Whoever does not answer at once is none of ours. */
const patienceMs = 2_000;

/**
 * What to say where a port is taken: mostly it is the emulator of this very folder, started before, or one of another.
 * `state` is that beside which it would have told of itself.
 */
export async function portTaken(
  { port = 0, state, cause }: { port: number | undefined; state: string | undefined; cause: unknown },
  context: Context,
): Promise<CommandFailed> {
  const running = state === undefined ? undefined : await readRunFile(await runFileOf(state));
  if (running && (await instanceAt(running.routerUrl, context)) === running.instanceId) {
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
  const address = `http://127.0.0.1:${port}`;
  const isOther = (await instanceAt(address, context)) !== undefined;
  const who = isOther ? "An emulator with another state" : "Something";
  const another = "Choose another with --port, or --port 0 for free ones.";
  return new CommandFailed("failed", "port_taken", `${who} listens on port ${port} or the ones after it already.`, {
    hint: isOther ? `${whichOther(address, context)} ${another}` : another,
    cause,
  });
}

/** Its state may have been removed while it ran: then nothing in the folder tells of it any more. */
function whichOther(address: string, { host }: Context): string {
  const url = host.env.SVC_EMULATOR_URL;
  return url !== undefined && URL.canParse(url) && new URL(url).origin === address
    ? "The variables of this shell lead to it: svc emulator stop ends it."
    : "It may be one whose .svc was removed while it ran: Ctrl-C where it was started ends it.";
}

/** The instance id of the emulator that answers there. */
async function instanceAt(url: string, { host, globals, output, signal, atEnd }: Context): Promise<string | undefined> {
  const { ready } = await import("../../../api/emulator/lifecycle.ts");
  const client = await openClient({ host, globals, output, baseUrls: { emulator: url }, credentials: {} });
  atEnd(() => client.close());
  const answer = client.call(ready, {}, { signal, retries: 0, timeoutMs: patienceMs });
  return answer.then(
    ({ instance_id }) => instance_id,
    () => undefined,
  );
}
