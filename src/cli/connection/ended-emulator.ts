import { NetworkError, ServiceError } from "../../client/errors.ts";
import type { Context } from "../command.ts";
import type { EmulatorHere } from "./emulator-access.ts";

/** A shell that still speaks of an emulator that ran before. */
export interface EndedEmulator {
  /** The variable that names the one that has ended. */
  readonly variable: string;
  /** The one that runs in its folder; undefined: none does. */
  readonly here: EmulatorHere | undefined;
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
  const { emulatorHere, isOnThisMachine, refuses } = await import("./emulator-access.ts");
  if (!isOnThisMachine(address)) return undefined;
  const here = await emulatorHere(host).catch(() => undefined);
  const { SVC_EMULATOR_URL: control } = host.env;
  if (here === undefined && !(control && isOnThisMachine(control) && (await refuses(new URL(control).origin))))
    return undefined;
  if (!(await refuses(new URL(address).origin))) return undefined;
  return { variable, here };
}

/** What a person does about it. */
const evalAgain = ({ variable, here }: EndedEmulator): string =>
  here === undefined
    ? `${variable} points to an emulator that has ended, and none runs in this folder: svc emulator start --detach, then eval "$(svc emulator env)" again.`
    : `${variable} points to an emulator that has ended; the one of this folder is at ${here.routerUrl}: eval "$(svc emulator env)" again.`;

/** The same of a command that could not reach its service; undefined where that has another reason. */
export async function hintOfEnded(error: unknown, context: Context): Promise<string | undefined> {
  if (!(error instanceof NetworkError) || error.code !== "ECONNREFUSED") return undefined;
  const ended = (await endedEmulator(context, "services")) ?? (await endedEmulator(context, "control"));
  return ended && evalAgain(ended);
}

/**
 * What a person does where an emulator of this machine refuses what the environment holds: another one may have begun at
 * the address of the one that it was printed by. Undefined where something else than the environment says where to go.
 */
export async function hintOfRefused(error: unknown, { globals, host }: Context): Promise<string | undefined> {
  if (!(error instanceof ServiceError) || error.status !== 401) return undefined;
  if (globals.emulator || globals.baseUrl !== undefined || globals.profile !== undefined) return undefined;
  const { SVC_EMULATOR_URL: address } = host.env;
  const { isOnThisMachine } = await import("./emulator-access.ts");
  if (!address || !isOnThisMachine(address)) return undefined;
  return `The variables of this shell may be those of the emulator that had this address before: eval "$(svc emulator env)" again, in the folder of the one that runs.`;
}

/**
 * The state of the emulator that is meant by who asks for the one that runs or ends it: that of this folder, where the
 * environment's has ended.
 */
export async function stateMeant(file: string | undefined, context: Context): Promise<string | undefined> {
  if (file !== undefined) return file;
  const ended = await endedEmulator(context, "control");
  if (ended?.here === undefined) return undefined;
  await context.output.warn(evalAgain(ended));
  return ended.here.state;
}
