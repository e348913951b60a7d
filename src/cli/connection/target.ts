import { relative } from "node:path";
import { getOrigin } from "../../base/urls.ts";
import type { Client } from "../../client/client.ts";
import type { BaseUrls } from "../../client/published.d.ts";
import { isForeignState } from "../../files/folders.ts";
import type { Context, ServiceTarget } from "../command.ts";
import type { Output } from "../output/output.ts";
import type { GlobalOptions } from "../parse/globals.ts";
import { CommandFailedError, UsageError } from "../process/failure.ts";
import type { Host } from "../process/host.ts";
import { formatCommandLine } from "../process/shell-words.ts";
import {
  createEmulatorConnection,
  type EmulatorAccess,
  isSameEmulator,
  readEmulatorAccess,
} from "./emulator/emulator-access.ts";
import { reportUnusedVariables, selectEnvironmentKey } from "./emulator/emulator-variables.ts";
import {
  createUntrustedStateError,
  describeState,
  findNearestState,
  inspectRunFileOf,
  makeStateFolder,
  printOnce,
  readRunFile,
  reportParentState,
  resolveRunFile,
  resolveStateFile,
  type StateRunFile,
} from "./emulator/run-file.ts";
import { readProfiles } from "./profiles/profile.ts";
import {
  readEnvironmentEmulator,
  readProfileEmulator,
  readVariable,
  resolveEmulatorSetting,
  resolveServiceSettings,
} from "./resolve-settings.ts";

/**
 * Fails with exit code 2 if no address is configured. Reports an emulator that only this folder selects, and the
 * current profile in a folder whose emulator is not running.
 */
export async function resolveServiceTarget(globals: GlobalOptions, host: Host, output: Output): Promise<ServiceTarget> {
  const settings = await resolveServiceSettings({ globals, host });
  if (settings.isEmulatorHere) {
    const { current } = await readProfiles(host.env).catch(() => ({ current: undefined }));
    const profileNote = current === undefined ? "" : `, not profile ${current} (to use it: --profile ${current})`;
    const note = `Using the emulator at ${settings.router?.value} (${settings.stateName})`;
    await printOnce(output, "note", note, profileNote);
    await reportUnusedVariables(settings.unused, output);
  }
  const url = settings.router?.value ?? settings.contracts?.value;
  const state = settings.isCurrentProfile || url === undefined ? findNearestState(host.cwd) : undefined;
  if (settings.chosenBy === undefined || url === undefined) {
    const emulator = readEnvironmentEmulator(host) ?? (await readProfileEmulator({ globals, host }));
    throw new UsageError("No service address is configured.", {
      hint:
        `To start ${state === undefined ? "an emulator" : `the emulator of ${relative(host.cwd, state)}`}, run ${formatCommandLine(createStartCommand())}. ` +
        (emulator
          ? `The address in ${emulator.url.origin} is only that of its control plane: for all variables, run eval "$(svc emulator env)". `
          : "") +
        "Or use --base-url URL, set SVC_BASE_URL, or choose a --profile.",
    });
  }
  if (settings.isCurrentProfile && state !== undefined) {
    const emulator = `the emulator with the state ${relative(host.cwd, state)}`;
    await printOnce(output, "warn", `warning: Using ${settings.chosenBy} (${url}), because ${emulator} is not running`);
  }
  return {
    baseUrls: {
      router: settings.router?.value,
      contracts: settings.contracts?.value,
      ...(globals.baseUrl === undefined ? {} : { emulator: globals.baseUrl }),
    },
    origin: settings.chosenBy,
    credentials: {
      clientId: settings.clientId?.value,
      clientSecret: settings.clientSecret?.value,
      clusterKeys: Object.fromEntries(Object.entries(settings.clusterKeys).map(([id, { value }]) => [id, value])),
      clusterKey: settings.clusterKey?.value,
      bearer: settings.token?.value,
      controlToken: settings.controlToken?.value,
      basic: settings.basicAuth?.value,
    },
  };
}

/**
 * Resolves the running emulator by state, environment or run file. Reports it unless the command is its (`isOwn`), or
 * unless the run already uses services, which can be other ones.
 */
export async function resolveControlTarget(
  globals: GlobalOptions,
  host: Host,
  file: string | undefined,
  output: Output,
  { isOwn, isServiceReported = false }: { readonly isOwn: boolean; readonly isServiceReported?: boolean },
): Promise<ServiceTarget> {
  const controlToken = readVariable(host, "SVC_EMULATOR_TOKEN")?.value;
  if (globals.baseUrl !== undefined) {
    return { baseUrls: { emulator: globals.baseUrl }, origin: "--base-url", credentials: { controlToken } };
  }
  const state = resolveStateFile(host, file);
  const content = await inspectRunFileOf(state, file);
  const running = content.status === "running" ? content.running : undefined;
  const isHere = content.status === "running" || content.status === "ended";
  const setting = file === undefined ? await resolveEmulatorSetting({ globals, host }, isHere) : undefined;
  if (setting) {
    const { value: url, origin } = setting.url;
    return { baseUrls: { emulator: url, router: url }, origin, credentials: { controlToken: setting.token?.value } };
  }
  if (!running || !(await isSameEmulator(running, { mayBeStarting: true })))
    throw createNoEmulatorError(state, content, file, isOwn);
  const { routerUrl, token } = running;
  if (isOwn || file !== undefined) await reportParentState(host, output, state, file);
  else if (!isServiceReported) {
    const note = `Using the emulator at ${routerUrl} (${describeState(host, state, running)})`;
    await printOnce(output, "note", note);
  }
  return {
    baseUrls: { emulator: routerUrl, router: routerUrl },
    origin: content.path,
    credentials: { controlToken: token },
  };
}

/** Returns the command line that starts an emulator. */
const createStartCommand = (file?: string): readonly string[] => [
  ...["emulator", "start", "--detach"],
  ...(file === undefined ? [] : ["--file", file]),
];

function createNoEmulatorError(state: string, content: StateRunFile, file: string | undefined, isOwn: boolean) {
  if (content.status === "ended") {
    const { isInMemory, store } = content.running;
    const message = `The emulator was killed, or its machine went down (state: ${store ?? state}).`;
    if (store !== undefined) {
      const hint = "No data is lost. Start it again with the same store to continue.";
      return new CommandFailedError("not-found", "no_emulator", message, { hint });
    }
    return new CommandFailedError("not-found", "no_emulator", message, {
      hint: isInMemory ? "Its state was in memory and is lost." : "No data is lost. Start it again to continue.",
      next: createStartCommand(file),
    });
  }
  if (content.status === "distrusted") {
    const message = `No emulator is running with the state ${state}: the run file is ignored, because ${content.reason}.`;
    const hint = `If you started one, use --base-url and SVC_EMULATOR_TOKEN. Otherwise remove ${content.path}.`;
    return new CommandFailedError("not-found", "run_file_ignored", message, { hint });
  }
  const place =
    isOwn || file !== undefined
      ? "Use --file with the state of a running emulator"
      : "Run the command in the folder of a running emulator";
  return new CommandFailedError("not-found", "no_emulator", `No emulator is running (state: ${state}).`, {
    hint: `${place}, or set SVC_EMULATOR_URL and SVC_EMULATOR_TOKEN.`,
    next: createStartCommand(),
  });
}

/** Reports whether the router belongs to an emulator with an accessible control plane. */
export async function isEmulator(context: Context, file?: string): Promise<boolean> {
  const { globals, host } = context;
  if (globals.emulator) return true;
  // The token of an emulator must not be sent to an unrelated address.
  if (globals.baseUrl !== undefined)
    return getOrigin(readEnvironmentEmulator(host)?.url.value) === getOrigin(globals.baseUrl);
  const { router } = (await context.target("router")).baseUrls;
  try {
    const { baseUrls, credentials } = await context.target("emulator", file);
    return credentials.controlToken !== undefined && getOrigin(baseUrls.emulator) === getOrigin(router);
  } catch (error) {
    if (error instanceof CommandFailedError && file === undefined) return false;
    throw error;
  }
}

/** Returns the address of a service. The other services of the target can be configured without it. */
export function requireBaseUrl(baseUrls: BaseUrls, service: keyof BaseUrls): string {
  const url = baseUrls[service];
  if (url !== undefined) return url;
  throw new UsageError(`No address of the service "${service}" is configured.`, {
    hint: service === "router" ? "Set SVC_ROUTER_URL." : "Set SVC_CONTRACTS_URL.",
  });
}

/** Opens a client of the emulator in use. Throws CommandFailedError if a real service is selected. */
export async function openEmulatorClient(file: string | undefined, context: Context): Promise<Client> {
  await requireEmulator(file, context);
  return context.client("emulator", { file });
}

export async function requireEmulator(file: string | undefined, context: Context): Promise<void> {
  const service = await findRealService(file, context);
  if (service === undefined) return;
  const message = `This command requires an emulator. The selected service is that of ${service}.`;
  throw new CommandFailedError("failed", "only_emulator", message, {
    hint: "The real service shows its webhook deliveries in its application only.",
  });
}

/** Finds the setting that selects a real service. Returns undefined for an emulator. */
export async function findRealService(file: string | undefined, { globals, host }: Context) {
  if (file !== undefined || globals.emulator) return undefined;
  const isNamed = globals.profile !== undefined;
  if (!isNamed && globals.baseUrl === undefined && readEnvironmentEmulator(host)) return undefined;
  const { chosenBy, isEmulatorHere, controlToken } = await resolveServiceSettings({ globals, host });
  const isRealService = chosenBy !== undefined && !isEmulatorHere && (isNamed || controlToken === undefined);
  // A profile can name the emulator that replaces its services.
  const isFromProfile = globals.baseUrl === undefined && chosenBy?.startsWith("profile ") === true;
  if (isRealService && isFromProfile && (await readProfileEmulator({ globals, host }))) return undefined;
  return isRealService ? chosenBy : undefined;
}

/**
 * Returns the emulator of `--emulator`. It is started in this process on free ports and closed at the end, unless one
 * already runs on the same state. Only its own credentials are used, because those of a real service must not be sent
 * to it.
 */
export async function createEmbeddedTarget(
  { host, output, onEnd, forceSignal }: Pick<Context, "host" | "output" | "onEnd" | "forceSignal">,
  file: string | undefined,
): Promise<ServiceTarget> {
  const path = resolveStateFile(host, file);
  await reportParentState(host, output, path, file);
  if (file === undefined && (await isForeignState(path))) throw createUntrustedStateError(path);
  const removeStateFolder = await makeStateFolder(path);
  const { startEmulator } = await import("../../../emulator/index.ts");
  try {
    const emulator = await startEmulator({ port: 0, file: path, otel: host.env });
    onEnd(() => emulator.close({ signal: forceSignal }));
    return await createEmulatorTarget(emulator, { host, output });
  } catch (error) {
    await removeStateFolder();
    const running =
      (error as Error).name === "StateLockedError" ? await readRunFile(await resolveRunFile(path)) : undefined;
    if (!running || !(await isSameEmulator(running))) {
      const { toStartError } = await import("./emulator/start-errors.ts");
      throw toStartError(error as Error, { file: path });
    }
    return createEmulatorTarget(await readEmulatorAccess(running), { host, output });
  }
}

async function createEmulatorTarget(emulator: EmulatorAccess, { host, output }: Pick<Context, "host" | "output">) {
  const { access, key, unused } = await selectEnvironmentKey(emulator, host);
  await reportUnusedVariables(unused, output);
  const { baseUrls, credentials } = createEmulatorConnection(access);
  return { baseUrls, origin: "--emulator", credentials: { ...credentials, ...key } };
}
