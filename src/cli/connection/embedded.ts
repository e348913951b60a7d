import type { Emulator } from "../../../emulator/index.ts";
import { createClient } from "../../client/client.ts";
import type { Credentials } from "../../client/credentials.ts";
import type { Context, Target } from "../command.ts";
import { CommandFailed } from "../failure.ts";
import { readRunFile, runFileOf, stateFile } from "./run-file.ts";
import { makeStateFolder, noteStateAbove } from "./state-folder.ts";

/**
 * The emulator of `--emulator`: started inside this process on free ports and closed at the end, or the one that
 * runs on the same state already. Its own credentials are used: those of a real service must not be sent to it.
 */
export async function embeddedTarget(
  { host, output, atEnd, cut }: Pick<Context, "host" | "output" | "atEnd" | "cut">,
  file: string | undefined,
): Promise<Target> {
  const path = stateFile(host, file);
  await noteStateAbove(host, output, path, file);
  await makeStateFolder(path);
  const { startEmulator } = await import("../../../emulator/index.ts");
  try {
    const emulator = await startEmulator({ port: 0, file: path });
    atEnd(() => emulator.close({ hurry: cut }));
    return targetOf(emulator);
  } catch (error) {
    if ((error as Error).name === "NoLockFile") {
      throw new CommandFailed("failed", "not_a_run_file", (error as Error).message, { cause: error });
    }
    const running = (error as Error).name === "StateInUse" ? await readRunFile(await runFileOf(path)) : undefined;
    if (!running) throw error;
    return runningTarget(running.routerUrl, running.token);
  }
}

function targetOf({ routerUrl, clusters, token }: Emulator): Target {
  const first = clusters.find(({ clientId }) => clientId !== undefined);
  return {
    baseUrls: { router: routerUrl, emulator: routerUrl, contracts: first?.url ?? routerUrl },
    origin: "--emulator",
    credentials: {
      clientId: first?.clientId,
      clientSecret: first?.clientSecret,
      clusterKeys: Object.fromEntries(clusters.map(({ id, clusterKey }) => [id, clusterKey])),
      controlToken: token,
    },
  };
}

/** The contract API is reached through the router, which finds the cluster by the client-id. */
async function runningTarget(routerUrl: string, token: string): Promise<Target> {
  const [{ listWorkspaces }, { createTransport }] = await Promise.all([
    import("../../api/emulator/state.ts"),
    import("../../client/transport.ts"),
  ]);
  const client = createClient({
    baseUrls: { emulator: routerUrl },
    credentials: { controlToken: token },
    transport: createTransport(),
  });
  try {
    const [first] = await client.call(listWorkspaces);
    const credentials: Credentials = {
      clientId: first?.client_id,
      clientSecret: first?.client_secret,
      controlToken: token,
    };
    return {
      baseUrls: { router: routerUrl, emulator: routerUrl, contracts: routerUrl },
      origin: "the emulator that runs on this state",
      credentials,
    };
  } finally {
    await client.close();
  }
}
