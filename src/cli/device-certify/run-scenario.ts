import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemWallClock } from "../../base/clock.ts";
import type { Context } from "../command.ts";
import { emulatorVariables } from "../connection/emulator-variables.ts";
import { type ClientProcess, startClient } from "./client-process.ts";
import type { Observation, ScriptedServer } from "./scripted-server.ts";

/** What one run of the client showed. */
export interface ScenarioResult extends Observation {
  readonly output: string;
  /** Undefined: it was still running when the run was over. */
  readonly exitCode: number | undefined;
  readonly seconds: number;
}

// The client runs in real time, so this does, too.
/** So long nothing may come after the end of the script, until a client counts as idle. */
const quietMs = 8_000;
/** How often it looks whether a run is over. */
const lookMs = 50;
/** For a client to end by itself after SIGTERM. */
const terminationMs = 1_000;
/** Polls after the end of the script that show that the client goes on. */
const enoughPolls = 2;

/** Runs the client against this server, and ends it when nothing more is to be seen. */
export async function runScenario(
  server: ScriptedServer,
  argv: readonly [string, ...string[]],
  maxWaitMs: number,
  context: Context,
): Promise<ScenarioResult> {
  const { host, signal } = context;
  const folder = await mkdtemp(join(tmpdir(), "svc-certify-"));
  const began = systemWallClock.monotonicNow();
  const client = startClient(argv, { cwd: host.cwd, env: environmentOf(server, folder, context) });
  context.atForcedEnd(() => client.kill("SIGKILL"));
  try {
    const isOver = () => hasShownAll(server.observation, systemWallClock.monotonicNow(), began + maxWaitMs);
    let hasEnded = false;
    const ended = client.ended.then(() => {
      hasEnded = true;
    });
    while (!hasEnded && !signal.aborted && !isOver()) {
      await Promise.race([ended, systemWallClock.sleep(lookMs, signal)]);
    }
    signal.throwIfAborted();
    const seconds = (systemWallClock.monotonicNow() - began) / 1_000;
    return { ...server.observation, output: client.output(), exitCode: client.exitCode(), seconds };
  } finally {
    await endClient(client);
    await rm(folder, { recursive: true, force: true });
  }
}

function hasShownAll(observation: Observation, now: number, latest: number): boolean {
  if (now >= latest) return true;
  const { endedAt, lastAt = 0, polls, deviceRequests } = observation;
  if (endedAt === undefined) return false;
  const later = polls.filter(({ step }) => step === undefined);
  return later.length >= enoughPolls || deviceRequests.length > 1 || now - Math.max(lastAt, endedAt) >= quietMs;
}

async function endClient(client: ClientProcess): Promise<void> {
  if (client.exitCode() === undefined) {
    client.kill("SIGTERM");
    const waited = new AbortController();
    await Promise.race([client.ended.catch(() => {}), systemWallClock.sleep(terminationMs, waited.signal)]);
    waited.abort();
  }
  client.kill("SIGKILL");
}

/** Where the client finds the server. The token of the control plane is not for it: that approves for the person. */
function environmentOf(server: ScriptedServer, folder: string, { host }: Context): Readonly<Record<string, string>> {
  const { url, emulator } = server;
  const all = {
    ...host.env,
    ...emulatorVariables({ ...emulator, routerUrl: url, controlUrl: `${url}/_emulator` }),
    SVC_EMULATOR_URL: undefined,
    SVC_EMULATOR_TOKEN: undefined,
    SVC_OAUTH_CLIENT_ID: "demo-cli",
    // Sign-ins of the user stay as they are, and runs do not share theirs.
    SVC_CONFIG_DIR: folder,
  };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
