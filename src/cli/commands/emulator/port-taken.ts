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
  const isOther = (await instanceAt(`http://127.0.0.1:${port}`, context)) !== undefined;
  const who = isOther ? "An emulator with another state" : "Something";
  return new CommandFailed("failed", "port_taken", `${who} listens on port ${port} or the ones after it already.`, {
    hint: "Choose another with --port, or --port 0 for free ones.",
    cause,
  });
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
