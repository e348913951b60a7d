import { NetworkError, ServiceError } from "../../client/errors.ts";
import { isOnThisMachine } from "../../files/machine.ts";
import type { Context } from "../command.ts";
import { CommandFailedError } from "../failure.ts";
import type { LocalEmulator } from "./emulator-access.ts";
import { findPathAbove } from "./state-folder.ts";

/** A shell that still speaks of an emulator that ran before. */
export interface EndedEmulator {
  /** The variable that names the one that has ended. */
  readonly variable: string;
  /** The one that runs in its folder; undefined: none does. */
  readonly here: LocalEmulator | undefined;
}

const ofServices = ["SVC_BASE_URL", "SVC_ROUTER_URL", "SVC_CONTRACTS_URL"] as const;
const ofControl = ["SVC_EMULATOR_URL"] as const;

/**
 * Whether the environment points to an emulator of this machine that has ended: this folder's runs elsewhere, or none does
 * and nobody listens where the environment says that one runs. Undefined too where something else than the environment
 * says where to go.
 */
export async function endedEmulator(
  { globals, host }: Pick<Context, "globals" | "host">,
  of: "services" | "control",
): Promise<EndedEmulator | undefined> {
  if (globals.emulator || globals.baseUrl !== undefined || globals.profile !== undefined) return undefined;
  const variable = (of === "control" ? ofControl : ofServices).find((name) => host.env[name]);
  const address = variable && host.env[variable];
  if (!address) return undefined;
  const { findLocalEmulator, isConnectionRefused } = await import("./emulator-access.ts");
  if (!isOnThisMachine(address)) return undefined;
  const here = await findLocalEmulator(host).catch(() => undefined);
  const { SVC_EMULATOR_URL: control } = host.env;
  if (
    here === undefined &&
    !(control && isOnThisMachine(control) && (await isConnectionRefused(new URL(control).origin)))
  )
    return undefined;
  if (!(await isConnectionRefused(new URL(address).origin))) return undefined;
  return { variable, here };
}

/** What a person does about it. */
function evalAgain({ variable, here }: EndedEmulator, { host }: Pick<Context, "host">): string {
  const ended = `${variable} points to an emulator that has ended`;
  if (here === undefined)
    return `${ended}. To start one: svc emulator start --detach, then eval "$(svc emulator env)" again.`;
  const path = findPathAbove(host.cwd, here.state);
  const which = path === undefined ? "of this folder" : `with the state ${path}`;
  return `${ended}. The emulator ${which} is at ${here.routerUrl}. To use it: eval "$(svc emulator env)" again.`;
}

/** The same of a command that could not reach its service; undefined where that has another reason. */
export async function findEndedHint(error: unknown, context: Context): Promise<string | undefined> {
  if (!(error instanceof NetworkError) || error.code !== "ECONNREFUSED") return undefined;
  const ended = (await endedEmulator(context, "services")) ?? (await endedEmulator(context, "control"));
  return ended && evalAgain(ended, context);
}

/**
 * What a person does where an emulator of this machine refuses what the environment holds: another one may have begun at
 * the address of the one that it was printed by. Undefined where something else than the environment says where to go.
 */
export async function findRejectionHint(error: unknown, { globals, host }: Context): Promise<string | undefined> {
  if (!(error instanceof ServiceError) || error.status !== 401) return undefined;
  if (globals.emulator || globals.baseUrl !== undefined || globals.profile !== undefined) return undefined;
  const { SVC_EMULATOR_URL: address } = host.env;
  if (!address || !isOnThisMachine(address)) return undefined;
  return `The variables of this shell may belong to a previous emulator at this address. Run eval "$(svc emulator env)" again in the folder of the running one.`;
}

/**
 * The state of the emulator that is meant by who asks for the one that runs or ends it: that of this folder, where the
 * environment's has ended. One of a folder above may be somebody else's, and is not ended instead.
 */
export async function resolveEndedState(
  file: string | undefined,
  context: Context,
  { ends = false }: { readonly ends?: boolean } = {},
): Promise<string | undefined> {
  if (file !== undefined) return file;
  const ended = await endedEmulator(context, "control");
  if (ended?.here === undefined) return undefined;
  const path = ends ? findPathAbove(context.host.cwd, ended.here.state) : undefined;
  if (path !== undefined) {
    const message = `${ended.variable} points to an emulator that has already ended.`;
    const hint = `Another emulator is running (state: ${path}).`;
    throw new CommandFailedError("not-found", "no_emulator", message, {
      hint,
      next: ["emulator", "stop", "--file", path],
    });
  }
  await context.output.warn(evalAgain(ended, context));
  return ended.here.state;
}
