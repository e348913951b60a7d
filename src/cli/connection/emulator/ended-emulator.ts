import { isUnauthorized, NetworkError } from "../../../client/errors.ts";
import { isOnThisMachine } from "../../../files/machine.ts";
import type { Context } from "../../command.ts";
import { CommandFailedError } from "../../process/failure.ts";
import { isTokenRejected } from "../../process/service-message.ts";
import { formatCommandLine } from "../../process/shell-words.ts";
import { findLocalEmulator, findStartCommand, isConnectionRefused } from "./emulator-access.ts";
import { findPathAbove } from "./run-file.ts";

type EndedEmulator = NonNullable<Awaited<ReturnType<typeof findEndedEmulator>>>;

const addressVariables = {
  services: ["SVC_BASE_URL", "SVC_ROUTER_URL", "SVC_CONTRACTS_URL"],
  control: ["SVC_EMULATOR_URL"],
} as const;

/**
 * Checks whether the environment points to a local emulator that has ended. In that case, this folder's emulator has
 * another address, or there is none and nothing listens at the address in the environment. Returns undefined also if
 * another setting than the environment selects the target.
 */
async function findEndedEmulator({ globals, host }: Pick<Context, "globals" | "host">, target: "services" | "control") {
  if (hasTargetFlag({ globals })) return undefined;
  const variable = addressVariables[target].find((name) => host.env[name]);
  const address = variable && host.env[variable];
  if (!address || !isOnThisMachine(address)) return undefined;
  const running = await findLocalEmulator(host).catch(() => undefined);
  const { SVC_EMULATOR_URL: control } = host.env;
  const isControlGone = async () =>
    control && isOnThisMachine(control) && (await isConnectionRefused(new URL(control).origin));
  if (running === undefined && !(await isControlGone())) return undefined;
  if (!(await isConnectionRefused(new URL(address).origin))) return undefined;
  return { variable, running };
}

const hasTargetFlag = ({ globals }: Pick<Context, "globals">): boolean =>
  globals.emulator || globals.baseUrl !== undefined || globals.profile !== undefined;

async function suggestEval({ variable, running }: EndedEmulator, { host }: Pick<Context, "host">): Promise<string> {
  const message = `${variable} points to an emulator that has ended`;
  if (running === undefined) {
    const start = formatCommandLine(await findStartCommand());
    return `${message}. To start one: ${start}, then eval "$(svc emulator env)" again.`;
  }
  const path = findPathAbove(host.cwd, running.state);
  const location = path === undefined ? "of this folder" : `with the state ${path}`;
  return `${message}. The emulator ${location} is at ${running.routerUrl}. To use it: eval "$(svc emulator env)" again.`;
}

/** Suggests another emulator if a command could not reach one that has ended. Undefined for another cause. */
export async function findEndedHint(error: unknown, context: Context): Promise<string | undefined> {
  if (!(error instanceof NetworkError) || error.code !== "ECONNREFUSED") return undefined;
  const endedEmulator = (await findEndedEmulator(context, "services")) ?? (await findEndedEmulator(context, "control"));
  return endedEmulator && (await suggestEval(endedEmulator, context));
}

/**
 * Suggests the next step if a local emulator rejects the credentials of the environment, because another emulator can
 * use its address by now. Returns undefined for another cause.
 */
export function findRejectionHint(error: unknown, context: Context): string | undefined {
  const address = context.host.env.SVC_EMULATOR_URL;
  // The variables of an emulator contain no access token.
  const isRejected = isUnauthorized(error) && !isTokenRejected(error);
  if (!isRejected || hasTargetFlag(context) || !address || !isOnThisMachine(address)) return undefined;
  return `The variables of this shell may belong to a previous emulator at this address. Run eval "$(svc emulator env)" again in the folder of the running one.`;
}

/**
 * Selects the state that is shown or stopped by default. If the environment's emulator has ended, it is the state of
 * this folder. The emulator of a parent folder can belong to another user and is not stopped instead.
 */
export async function resolveEndedState(
  file: string | undefined,
  context: Context,
  { isStopping = false }: { readonly isStopping?: boolean } = {},
): Promise<string | undefined> {
  if (file !== undefined) return file;
  const endedEmulator = await findEndedEmulator(context, "control");
  if (endedEmulator?.running === undefined) return undefined;
  const path = isStopping ? findPathAbove(context.host.cwd, endedEmulator.running.state) : undefined;
  if (path !== undefined) {
    const message = `${endedEmulator.variable} points to an emulator that has already ended.`;
    const hint = `Another emulator is running (state: ${path}).`;
    throw new CommandFailedError("not-found", "no_emulator", message, {
      hint,
      next: ["emulator", "stop", "--file", path],
    });
  }
  await context.output.warn(await suggestEval(endedEmulator, context));
  return endedEmulator.running.state;
}
