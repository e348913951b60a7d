import type { Context } from "../../command.ts";
import { type EmulatorAccess, findLocalEmulator } from "../../connection/emulator-access.ts";
import { stateFile } from "../../connection/run-file.ts";
import { defaultPort } from "../../connection/state-folder.ts";
import { CommandFailedError } from "../../failure.ts";
import { openEmulator } from "../emulator/open.ts";
import { requireTrust } from "../emulator/start/trust.ts";

/** The emulator that a session works with. */
export interface SessionEmulator extends EmulatorAccess {
  readonly state: string;
  /** It ends with the session. */
  readonly isOwn: boolean;
}

/** Joins the emulator of this folder, or starts it: on the usual ports, or on free ones where others use those. */
export async function startOrJoin(port: number | undefined, context: Context): Promise<SessionEmulator> {
  const here = await findLocalEmulator(context.host);
  if (here) return { ...here, isOwn: false };
  const state = stateFile(context.host, undefined);
  await requireTrust(state, false, context);
  const log = (line: string) => void context.output.warn(line);
  const open = (at: number) => openEmulator({ port: at, file: state }, context, { toldAt: state, log });
  const emulator = await open(port ?? defaultPort).catch((error: unknown) => {
    if (port !== undefined || !(error instanceof CommandFailedError) || error.code !== "port_taken") throw error;
    return open(0);
  });
  const { routerUrl, controlUrl, token, clusters } = emulator;
  return { routerUrl, controlUrl, token, clusters, state, isOwn: true };
}
