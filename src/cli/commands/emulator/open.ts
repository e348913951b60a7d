import type { Emulator, EmulatorOptions } from "../../../../emulator/index.ts";
import type { Context } from "../../command.ts";
import { resolveRunFile } from "../../connection/run-file.ts";
import { toEndedError, toStartError } from "../../connection/start-error.ts";
import { makeStateFolder } from "../../connection/state-folder.ts";
import { requireDifferentFiles } from "./different-files.ts";
import { createAlreadyRunningError, createPortTakenError } from "./port-taken.ts";

/** So many processes of one store find a run file in one folder. */
const maxProcesses = 20;

interface Surroundings {
  /** Is written later, and may not be one of the emulator's own files. */
  readonly readyFile?: string | undefined;
  /** The state beside which the emulator tells of itself; undefined where it does not. */
  readonly toldAt?: string | undefined;
  /** Told the state beside which it does so instead, where another process of the same store has the first run file. */
  readonly toldBeside?: ((state: string) => void) | undefined;
  /** Takes what the emulator has to say while it runs; left out: warnings on standard error. */
  readonly log?: ((line: string) => void) | undefined;
}

/** Starts an emulator that ends with the command; its failures in the words of the command line. */
export async function openEmulator(
  options: EmulatorOptions,
  context: Context,
  { readyFile, toldAt, toldBeside = () => {}, log }: Surroundings = {},
): Promise<Emulator> {
  const { output, host } = context;
  if (options.host !== undefined && !/^(localhost|127\.|::1|\[::1\])/.test(options.host)) {
    const names = [...(options.allowedHosts ?? []), ...publicNames(options)];
    const answered =
      names.length > 0
        ? `under ${names.join(", ")}`
        : "but requests to a name or address other than localhost get 403. To allow a name: --allowed-host NAME";
    const open = `listening on ${options.host}: other machines can reach this emulator, ${answered}`;
    if (log) log(`warning: ${open}`);
    else await output.warn(`warning: ${open}`);
  }
  const { startEmulator } = await import("../../../../emulator/index.ts");
  await requireDifferentFiles({ "--file": options.file, SVC_RUN_FILE: options.runFile, "--ready-file": readyFile });
  const beside = options.file ?? (options.store === undefined ? undefined : toldAt);
  if (beside !== undefined) await makeStateFolder(beside);
  try {
    const given = { otel: host.env, ...options, log: log ?? ((line: string) => void output.warn(line)) };
    const emulator =
      options.store === undefined || toldAt === undefined
        ? await startEmulator(given)
        : await startBeside(startEmulator, given, toldAt, toldBeside);
    context.atEnd(() =>
      emulator.close({ signal: context.cut }).catch((error) => {
        throw toEndedError(error);
      }),
    );
    return emulator;
  } catch (error) {
    const isPortTaken = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
    const state = options.file ?? toldAt;
    if (state !== undefined && (isPortTaken || isFileTaken(error as Error, options))) {
      const running = await createAlreadyRunningError(state, error);
      if (running) throw running;
    }
    if (isPortTaken) throw await createPortTakenError({ port: options.port, state: toldAt, cause: error }, context);
    throw toStartError(error as Error, options);
  }
}

/** Starts one of several processes of a store, with a run file of its own: the first that no other one holds. */
async function startBeside(
  startEmulator: (options: EmulatorOptions) => Promise<Emulator>,
  options: EmulatorOptions,
  toldAt: string,
  toldBeside: (state: string) => void,
): Promise<Emulator> {
  for (let number = 1; ; number += 1) {
    const state = number === 1 ? toldAt : `${toldAt}.${number}`;
    const runFile = number === 1 ? options.runFile : await resolveRunFile(state);
    try {
      if (number > 1) toldBeside(state);
      return await startEmulator({ ...options, runFile });
    } catch (error) {
      if ((error as Error).name !== "StateLockedError" || number === maxProcesses) throw error;
    }
  }
}

/** The hosts of the addresses at which clients find it, which are allowed. */
const publicNames = ({ publicUrl, clusterUrls = {} }: EmulatorOptions): readonly string[] => [
  ...new Set([publicUrl, ...Object.values(clusterUrls)].flatMap((url) => (url ? new URL(url).hostname : []))),
];

/** Of a store several processes may run, each with a file of its own that tells of it: that one is meant there. */
const isFileTaken = ({ name }: Error, { file }: EmulatorOptions): boolean =>
  name === "StateLockedError" && file !== undefined;
