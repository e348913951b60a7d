import { setFlagsFromString } from "node:v8";
import type { Emulator, EmulatorEvent, EmulatorOptions } from "../../../../emulator/index.ts";
import { systemWallClock, toIsoMillis } from "../../../base/clock.ts";
import { waitUntilAborted } from "../../../base/concurrency.ts";
import { createSwitch, createTextFlag } from "../../../derive/command-spec.ts";
import { createEmulatorFlags } from "../../../derive/emulator-options.ts";
import { type Command, type Context, defineCommand } from "../../command.ts";
import { collectSecrets } from "../../connection/emulator/emulator-access.ts";
import {
  defaultPort,
  getOwnStateFile,
  reportParentState,
  resolveRunFile,
  resolveStateFile,
} from "../../connection/emulator/run-file.ts";
import { toStateError } from "../../connection/emulator/start-errors.ts";
import { checkOutputFile } from "../../output/file.ts";
import { defaultColumns } from "../../output/styled.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { parseDurationFlag } from "../../parse/globals.ts";
import { isSwitchedOn } from "../../process/environment.ts";
import { UsageError } from "../../process/failure.ts";
import { type Host, inputVariable, waitForInputEnd } from "../../process/host.ts";
import { openEmulator } from "./open.ts";
import { isStateless, readEmulatorOptions } from "./options.ts";
import {
  createJsonLog,
  createReadyEvent,
  createStandbyEvent,
  formatActivityLine,
  formatBanner,
  type LeaderInfo,
  leadershipRegainedLines,
} from "./start/banner.ts";
import { requireTrust, type StartReport, showStartReport, startDetached } from "./start/detach.ts";
import { isFileStream, prepareReadyFile, withResilientOutput } from "./start/ready-file.ts";
import { resolveStore } from "./start/store.ts";

const flags = [
  ...createEmulatorFlags(defaultPort),
  createTextFlag(
    "store",
    "URL",
    "Store the state in PostgreSQL: postgres://user@host/database; the password comes from PGPASSWORD, a password file or SVC_STORE",
    { section: "State" },
  ),
  createSwitch("detach", "Run in the background, until svc emulator stop"),
  createSwitch("trust-state", "Trust a state in .svc that another user or machine created, as in a clone"),
  createTextFlag(
    "ready-file",
    "FILE",
    "Write the addresses and the process ID to this file when the emulator is ready",
  ),
  createTextFlag("log", "FORMAT", "json: log each request, attempt and change as JSON on standard error", {
    choices: ["text", "json"],
    default: "text",
  }),
] as const;

type StartInput = CommandInputOf<typeof flags>;

export const emulatorStart = defineCommand({
  words: ["emulator", "start"],
  summary: "Start the emulator, until Ctrl-C or svc emulator stop",
  description:
    "Prints a line for each request, delivery attempt and clock advance, unless --quiet is given. With --json the first line is printed when the emulator is ready, and each further line is an event. With --detach the lines go to a log next to the state (.svc/emulator.json.log), to .svc/ephemeral.log, or to .svc/second.run.log if SVC_RUN_FILE is second.run. Each start overwrites it.",
  flags,
  examples: [
    ["Start on the default ports, with the state in .svc/emulator.json", "emulator start"],
    ["Run a virtual minute per second, in memory", "emulator start --ephemeral --clock-speed 60"],
    ["Start a copy of a snapshot next to its emulator", "emulator start --from prepared"],
    [
      "Store the state in PostgreSQL, so that other processes can take over",
      "emulator start --store postgres://svc@db.example/sandbox",
    ],
    ["Start in the background, until svc emulator stop", "emulator start --detach"],
  ],
  async run(input, context) {
    const { flags: values } = input;
    const { host, signal } = context;
    const database = resolveStore(values, host);
    const ephemeral = database === undefined && isStateless(values);
    if (!ephemeral && database === undefined && values.file === undefined) {
      const hint = "Use it with --trust-state, or choose another state with --file.";
      await requireTrust(resolveStateFile(host, undefined), { isTrusted: values["trust-state"], hint }, context);
    }
    const waitsForInput = stopsAtInputEnd(values, host);
    if (values.detach && host.starter === undefined) return startDetached({ ...values, ephemeral }, context);
    // Limits heap growth between collections to a factor of two instead of four. An emulator runs all day next to other
    // programs, and garbage would use most of its memory. A smaller limit would save ten megabytes and add a fifth to
    // the CPU time of a million rows.
    setFlagsFromString("--heap-growing-percent=100");
    const inputEnded = waitsForInput ? [waitForInputEnd(host, context.onEnd)] : [];
    const options = { ...(await readStartOptions(input, context)), ...database, ephemeral, signal };
    const lasting = withResilientOutput(context, values.log === "json");
    const { output } = lasting;
    const log = values.log === "json" ? createJsonLog(lasting, systemWallClock) : undefined;
    const { runFileState, ...files } = await resolveStateFiles(options, host);
    const readyPath = values["ready-file"];
    const readyFile = readyPath === undefined ? undefined : await prepareReadyFile(readyPath, context);
    if (files.file !== undefined) await reportParentState(host, output, files.file, options.file);
    const reporter = createStartReporter(context);
    const { onLeaderChange, onLeadershipRegained } = reporter;
    const emulator = await openEmulator(
      { port: defaultPort, ...options, ...files, onLeaderChange, onLeadershipRegained },
      context,
      {
        readyFile: readyFile?.path,
        runFileState,
        log: (line) => void (log ? log.logMessage("warn", line) : output.warn(addTimestamp(line, host))),
      },
    );
    const ready = createReadyEvent(emulator, host);
    if (readyFile) {
      context.onEnd(() => readyFile.remove());
      // Standard output may be captured in a log. Only the ready file, readable by its owner, contains the token.
      await readyFile.write({ ...ready, instance_id: emulator.instanceId, token: emulator.token });
    }
    const banner = formatBanner(emulator, runFileState, host);
    await reporter.reportStart({ ready, banner, secrets: collectSecrets(emulator) });
    await log?.logLifecycle("ready", { router_url: emulator.routerUrl, instance_id: emulator.instanceId });
    const unwatch = log
      ? emulator.watch(async (events) => {
          for (const event of events) await log.logEvent(event);
        })
      : await printEvents(emulator, lasting);

    await Promise.race([emulator.closed, waitUntilAborted(signal), ...inputEnded]).catch((error) => {
      throw toStateError(error);
    });
    await log?.logLifecycle("stopping");
    if (signal.aborted && !log) await output.note("Stopping; press Ctrl-C again to stop immediately");
    await emulator.close({ signal: context.forceSignal });
    await unwatch();
    await log?.logLifecycle("stopped");
    signal.throwIfAborted();
  },
});

/** Returns whether the emulator stops when its standard input ends. */
function stopsAtInputEnd({ detach, seed }: StartInput["flags"], { env }: Host): boolean {
  if (!isSwitchedOn(env[inputVariable])) return false;
  if (detach) throw new UsageError(`${inputVariable} cannot be used with --detach`);
  if (seed === "-") throw new UsageError(`${inputVariable} cannot be used with --seed -`);
  return true;
}

/** Reads the options of the flags, and those that only programs set in the environment. */
async function readStartOptions(input: StartInput, { host, shutdown }: Context): Promise<EmulatorOptions> {
  const { SVC_GRACE: grace, SVC_RUN_FILE: runFile } = host.env;
  const graceMs = grace ? parseDurationFlag(grace, "SVC_GRACE") : undefined;
  if (graceMs !== undefined) shutdown.extendGrace(graceMs);
  return {
    ...(await readEmulatorOptions(input, host)),
    ...(runFile && { runFile: await checkOutputFile(host, runFile, "SVC_RUN_FILE") }),
    ...(graceMs !== undefined && { graceMs }),
  };
}

/** Resolves the paths of the state and of its run file. `runFileState` is the state next to which the run file is. */
async function resolveStateFiles({ ephemeral, store, ...options }: EmulatorOptions, host: Host) {
  const state = ephemeral ? getOwnStateFile(host) : resolveStateFile(host, options.file ?? undefined);
  const file = ephemeral || store !== undefined ? undefined : state;
  // A state in a database, or in memory without a terminal, has no path. Its run file is at the default path.
  const hasDefaultRunFile = (store !== undefined || host.starter) && options.runFile === undefined;
  // Commands find an emulator by a name without the extension of its run file.
  const namedState = options.runFile?.endsWith(".run") ? options.runFile.slice(0, -".run".length) : undefined;
  const runFileState = file ?? (hasDefaultRunFile ? state : namedState);
  const runFile = file === undefined && hasDefaultRunFile ? await resolveRunFile(state) : options.runFile;
  return { file, runFile, runFileState };
}

/** Creates the functions that report the start and changes of the leadership: first to a process that waits for it. */
function createStartReporter(context: Context) {
  let start: StartReport | undefined;
  let isReported = false;
  const report = async (message: StartReport) => {
    const { starter } = context.host;
    await (isReported || !starter ? showStartReport(message, context) : starter.send(message));
    isReported = true;
  };
  return {
    async reportStart(message: StartReport) {
      await report(message);
      start = message;
    },
    onLeaderChange: (leader: LeaderInfo) => void report(createStandbyEvent(leader)).catch(() => {}),
    onLeadershipRegained: () => {
      if (start) void report({ ...start, banner: leadershipRegainedLines }).catch(() => {});
    },
  };
}

/** Prints one line per request, attempt and clock advance, or one document, unless --quiet is given. */
async function printEvents(emulator: Emulator, { globals, host, output }: Context): Promise<() => Promise<void>> {
  if (globals.quiet) return async () => {};
  return emulator.watch(async (events) => {
    if (output.format === "table") {
      const columns = host.stdout.isTTY ? host.stdout.columns || defaultColumns : undefined;
      return output.print(...events.filter(isShownEvent).map((event) => formatActivityLine(event, columns)));
    }
    for (const event of events) await output.printDocument(event);
  });
}

/** A log file is read later, so lines get a time. Activities have virtual time, errors wall-clock time. */
const addTimestamp = (line: string, { stderr, wall }: Host): string =>
  isFileStream(stderr) ? `${toIsoMillis(wall.now())} (wall)  ${line}` : line;

/** Commands poll the emulator all the time, so only changes and failures of the control plane are shown. */
const isShownEvent = (event: EmulatorEvent): boolean =>
  event.event !== "request" || event.service !== "emulator" || event.method !== "GET" || event.status >= 400;

export const commands: readonly Command[] = [emulatorStart];
