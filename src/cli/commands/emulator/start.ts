import { setFlagsFromString } from "node:v8";
import type { Emulator, EmulatorEvent } from "../../../../emulator/index.ts";
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

export const emulatorStart = defineCommand({
  words: ["emulator", "start"],
  summary: "Start the emulator, until Ctrl-C or svc emulator stop",
  description:
    "Prints a line for each request, delivery attempt and clock advance, unless --quiet is given. With --json the first line is printed when the emulator is ready, and each further line is an event. With --detach the lines go to a log next to the state (.svc/emulator.json.log), or to .svc/ephemeral.log. Each start overwrites it.",
  flags: [
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
  ],
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
    const { host, signal, forceSignal: cut } = context;
    const inDatabase = resolveStore(input.flags, host);
    const ephemeral = inDatabase === undefined && isStateless(input.flags);
    const isFound = !ephemeral && inDatabase === undefined && input.flags.file === undefined;
    if (isFound) await requireTrust(resolveStateFile(host, undefined), input.flags["trust-state"] === true, context);
    const stopsAtStdinEnd = isSwitchedOn(host.env[inputVariable]);
    if (stopsAtStdinEnd && input.flags.detach) throw new UsageError(`${inputVariable} cannot be used with --detach`);
    if (stopsAtStdinEnd && input.flags.seed === "-")
      throw new UsageError(`${inputVariable} cannot be used with --seed -`);
    if (input.flags.detach && host.starter === undefined) return startDetached({ ...input.flags, ephemeral }, context);
    // Limits heap growth between collections to a factor of two instead of four. An emulator runs all day next to other
    // programs, and garbage would use most of its memory. A smaller limit would save ten megabytes and add a fifth to
    // the CPU time of a million rows.
    setFlagsFromString("--heap-growing-percent=100");
    const inputEnded = stopsAtStdinEnd ? waitForInputEnd(host, context.onEnd) : neverSettled;
    const { "ready-file": readyPath } = input.flags;
    const graceMs = host.env.SVC_GRACE ? parseDurationFlag(host.env.SVC_GRACE, "SVC_GRACE") : undefined;
    const ownOptions = {
      ...(await readEmulatorOptions(input, host)),
      ...(host.env.SVC_RUN_FILE && { runFile: await checkOutputFile(host, host.env.SVC_RUN_FILE, "SVC_RUN_FILE") }),
      ...(graceMs !== undefined && { graceMs }),
    };
    const options = { ...ownOptions, ...inDatabase, ephemeral, signal };
    if (graceMs !== undefined) context.shutdown.extendGrace(graceMs);
    const lasting = withResilientOutput(context, input.flags.log === "json");
    const { output } = lasting;
    const log = input.flags.log === "json" ? createJsonLog(lasting, systemWallClock) : undefined;
    const state = ephemeral ? getOwnStateFile(host) : resolveStateFile(host, options.file ?? undefined);
    const file = options.ephemeral || inDatabase ? undefined : state;
    // A state in a database, or in memory without a terminal, has no path. Its run file is at the default path.
    const hasDefaultRunFile = (inDatabase || host.starter) && options.runFile === undefined;
    const runFileState = file ?? (hasDefaultRunFile ? state : undefined);
    const runFile =
      file === undefined && runFileState !== undefined ? await resolveRunFile(runFileState) : options.runFile;
    const readyFile = readyPath === undefined ? undefined : await prepareReadyFile(readyPath, context);
    if (file !== undefined) await reportParentState(host, output, file, options.file);
    let isReported = false;
    const report = async (message: StartReport) => {
      await (isReported
        ? showStartReport(message, context)
        : (host.starter?.send(message) ?? showStartReport(message, context)));
      isReported = true;
    };
    const onLeaderChange = (leader: LeaderInfo) => void report(createStandbyEvent(leader)).catch(() => {});
    let announceLeadership = () => {};
    const shared = { onLeaderChange, onLeadershipRegained: () => announceLeadership() };
    const emulator = await openEmulator({ port: defaultPort, ...options, file, runFile, ...shared }, context, {
      readyFile: readyFile?.path,
      runFileState,
      log: (line) => void (log ? log.logMessage("warn", line) : output.warn(addTimestamp(line, host))),
    });
    const ready = createReadyEvent(emulator, host);
    if (readyFile) {
      context.onEnd(() => readyFile.remove());
      // Standard output may be captured in a log. Only the ready file, readable by its owner, contains the token.
      await readyFile.write({ ...ready, instance_id: emulator.instanceId, token: emulator.token });
    }
    const message: StartReport = {
      ready,
      banner: formatBanner(emulator, runFileState, host),
      secrets: collectSecrets(emulator),
    };
    await report(message);
    announceLeadership = () => void report({ ...message, banner: leadershipRegainedLines }).catch(() => {});
    await log?.logLifecycle("ready", { router_url: emulator.routerUrl, instance_id: emulator.instanceId });
    const unwatch = log
      ? emulator.watch(async (events) => {
          for (const event of events) await log.logEvent(event);
        })
      : await printEvents(emulator, lasting);

    await Promise.race([emulator.closed, waitUntilAborted(signal), inputEnded]).catch((error) => {
      throw toStateError(error);
    });
    await log?.logLifecycle("stopping");
    if (signal.aborted && !log) await output.note("Stopping; press Ctrl-C again to stop immediately");
    await emulator.close({ signal: cut });
    await unwatch();
    await log?.logLifecycle("stopped");
    signal.throwIfAborted();
  },
});

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

const neverSettled = new Promise<void>(() => {});

export const commands: readonly Command[] = [emulatorStart];
