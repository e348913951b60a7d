import { relative } from "node:path";
import type { Emulator, EmulatorEvent } from "../../../../../emulator/index.ts";
import { toIsoMillis, type WallClock } from "../../../../base/clock.ts";
import type { Context } from "../../../command.ts";
import { resolveStateFile } from "../../../connection/emulator/run-file.ts";
import type { Host } from "../../../process/host.ts";
import { quoteShellWord } from "../../../process/shell-words.ts";

/** The line that scripts wait for (DECISIONS.md, L21). */
export const createReadyEvent = ({ routerUrl, controlUrl, clusters, file, store }: Emulator, { pid }: Host) => ({
  event: "ready",
  router_url: routerUrl,
  control_url: controlUrl,
  clusters: clusters.map(({ id, url }) => ({ id, url })),
  file: file ?? null,
  ...(store !== undefined && { store }),
  pid,
});

/** Addresses of a standby and of the leader. */
export interface LeaderInfo {
  readonly routerUrl: string;
  readonly leader: string;
}

/** Message of a standby; it prints its ready line once it leads. */
export const createStandbyEvent = ({ routerUrl, leader }: LeaderInfo) => ({
  ready: { event: "following", router_url: routerUrl, leader },
  banner: [
    `The leader of this store is the process at ${leader}.`,
    `Requests to ${routerUrl} are forwarded to the leader. This process takes over when the leader ends.`,
  ],
  secrets: [],
});

/** Message of a process that leads again. */
export const leadershipRegainedLines = ["This process is the leader of its store again."];

/**
 * The banner, line by line: addresses, how to use it, how to end it. `toldAt` is the state next to which commands find
 * it; undefined without a run file.
 */
export function formatBanner(emulator: Emulator, toldAt: string | undefined, host: Host): string[] {
  const { routerUrl, controlUrl, clusters, file, store } = emulator;
  const kept = file === undefined ? (store ?? "in memory") : relative(host.cwd, file) || file;
  const isDetached = host.starter !== undefined;
  return [
    "The emulator is running.",
    "",
    `  router    ${routerUrl}`,
    ...clusters.map(({ id, url, external }) => `  ${id.padEnd(8)}  ${url}${external ? " (external)" : ""}`),
    `  control   ${controlUrl}`,
    `  state     ${kept}`,
    `  time      ${formatTime(emulator)}`,
    "",
    isDetached ? "To use it:" : "In another terminal:",
    "",
    ...(toldAt === undefined
      ? formatExports(emulator)
      : [`  eval "$(svc emulator env${formatFileFlag(toldAt, host)})"`]),
    `  svc contracts templates list`,
    "",
    isDetached
      ? `To stop it: svc emulator stop${toldAt === undefined ? "" : formatFileFlag(toldAt, host)}`
      : "Press Ctrl-C to stop it.",
  ];
}

/** Present virtual time and how it passes: a stored state has both. */
function formatTime({ clock: { now, mode, speed } }: Emulator): string {
  const passes = {
    real: speed === 1 ? "passes in real time" : `passes ${speed} times as fast as real time`,
    manual: "is paused (to advance it: svc emulator clock advance)",
    auto: "jumps to the next due entry",
  }[mode];
  const usual = mode === "real" && speed === 1;
  return `${toIsoMillis(now())}, ${passes}${usual ? "" : " (for real time: svc emulator clock set --mode real --speed 1)"}`;
}

/** The flag that names the state, where another would be found without it. */
const formatFileFlag = (file: string, host: Host): string =>
  file === resolveStateFile(host, undefined) ? "" : ` --file ${quoteShellWord(relative(host.cwd, file) || file)}`;

/** For an emulator without a run file. */
function formatExports({ routerUrl, controlUrl, clusters, token }: Emulator): string[] {
  const first = clusters.find(({ clientId }) => clientId !== undefined);
  return [
    formatExport("SVC_BASE_URL", routerUrl),
    ...(first
      ? [formatExport("SVC_CLIENT_ID", first.clientId), formatExport("SVC_CLIENT_SECRET", first.clientSecret)]
      : []),
    formatExport("SVC_EMULATOR_URL", controlUrl),
    formatExport("SVC_EMULATOR_TOKEN", token),
  ];
}

/** To be copied into a shell: custom seeds choose the values. */
const formatExport = (name: string, value = ""): string => `  export ${name}=${quoteShellWord(value)}`;

type Level = "info" | "warn" | "error";

/** The log of an emulator for programs that collect such: a document on a line of standard error for each thing. */
export interface JsonLog {
  /** Something that an emulator did: its `at` is virtual time, `time` is that of the wall clock. */
  logEvent(event: EmulatorEvent): Promise<void>;
  /** Reports that it is ready, or about to end. */
  logLifecycle(event: "ready" | "stopping" | "stopped", about?: object): Promise<void>;
  /** Its messages in words. */
  logMessage(level: Level, message: string): Promise<void>;
}

export function createJsonLog({ output }: Pick<Context, "output">, wall: WallClock): JsonLog {
  const printLine = (level: Level, about: object) => output.tell({ time: toIsoMillis(wall.now()), level, ...about });
  return {
    logEvent: (event) => printLine(getLevel(event), event),
    logLifecycle: (event, about = {}) => printLine("info", { event, ...about }),
    logMessage: (level, message) => printLine(level, { event: "message", message }),
  };
}

function getLevel(event: EmulatorEvent): Level {
  if (event.event === "request") return event.status >= 500 ? "error" : event.status === 0 ? "warn" : "info";
  if (event.event === "delivery") return event.outcome === "delivered" ? "info" : "warn";
  return event.event === "dropped" ? "warn" : "info";
}
