import { relative } from "node:path";
import type { Emulator, EmulatorEvent } from "../../../../../emulator/index.ts";
import { formatNextAttempt } from "../../../../api/webhook-health/attempts.ts";
import { toIsoMillis, type WallClock } from "../../../../base/clock.ts";
import { quoteShellWord } from "../../../../base/text.ts";
import type { Context } from "../../../command.ts";
import { resolveStateFile } from "../../../connection/emulator/run-file.ts";
import { cyan, dim, red, type StyledLine, styleState, styleStatus, yellow } from "../../../output/styled.ts";
import { truncateText } from "../../../output/table.ts";
import type { Host } from "../../../process/host.ts";

/** Creates the line that scripts wait for (DECISIONS.md, L21). */
export const createReadyEvent = ({ routerUrl, controlUrl, clusters, file, store }: Emulator, { pid }: Host) => ({
  event: "ready",
  router_url: routerUrl,
  control_url: controlUrl,
  clusters: clusters.map(({ id, url }) => ({ id, url })),
  file: file ?? null,
  ...(store !== undefined && { store }),
  pid,
});

export interface LeaderInfo {
  readonly routerUrl: string;
  readonly leader: string;
}

export const createStandbyEvent = ({ routerUrl, leader }: LeaderInfo) => ({
  ready: { event: "following", router_url: routerUrl, leader },
  banner: [
    `The leader of this store is the process at ${leader}.`,
    `Requests to ${routerUrl} are forwarded to the leader. This process takes over when the leader ends.`,
  ],
  secrets: [],
});

export const leadershipRegainedLines = ["This process is the leader of its store again."];

/** `runFileState` is the state file by which commands find the emulator, if it has a run file. */
export function formatBanner(emulator: Emulator, runFileState: string | undefined, host: Host): string[] {
  const { routerUrl, controlUrl, clusters, file, store } = emulator;
  const stateName = file === undefined ? (store ?? "in memory") : relative(host.cwd, file) || file;
  const isDetached = host.starter !== undefined;
  return [
    "The emulator is running.",
    "",
    `  router    ${routerUrl}`,
    ...clusters.map(({ id, url, external }) => `  ${id.padEnd(8)}  ${url}${external ? " (external)" : ""}`),
    `  control   ${controlUrl}`,
    `  state     ${stateName}`,
    `  time      ${formatTime(emulator)}`,
    "",
    isDetached ? "To use it:" : "In another terminal:",
    "",
    ...(runFileState === undefined
      ? formatExports(emulator)
      : [`  eval "$(svc emulator env${formatFileFlag(runFileState, host)})"`]),
    `  svc contracts templates list`,
    "",
    isDetached
      ? `To stop it: svc emulator stop${runFileState === undefined ? "" : formatFileFlag(runFileState, host)}`
      : "Press Ctrl-C to stop it.",
  ];
}

function formatTime({ clock: { now, mode, speed } }: Emulator): string {
  const isDefault = mode === "real" && speed === 1;
  const description = {
    real: isDefault ? "real time" : `${speed} times as fast as real time`,
    manual: "paused",
    auto: "jumps to the next due entry",
  }[mode];
  const hints = [
    ...(mode === "manual" ? ["to advance it: svc emulator clock advance"] : []),
    ...(isDefault ? [] : ["for real time: svc emulator clock set --mode real --speed 1"]),
  ];
  return `${toIsoMillis(now())}, ${description}${hints.length === 0 ? "" : ` (${hints.join("; ")})`}`;
}

const formatFileFlag = (file: string, host: Host): string =>
  file === resolveStateFile(host, undefined) ? "" : ` --file ${quoteShellWord(relative(host.cwd, file) || file)}`;

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

/** The value is quoted for a shell, because custom seeds define it. */
const formatExport = (name: string, value = ""): string => `  export ${name}=${quoteShellWord(value)}`;

type LogLevel = "info" | "warn" | "error";

/** Creates the log for log collectors: one JSON document per line on standard error. */
export function createJsonLog({ output }: Pick<Context, "output">, wall: WallClock) {
  const printLine = (level: LogLevel, details: object) =>
    output.printDiagnosticDocument({ time: toIsoMillis(wall.now()), level, ...details });
  return {
    /** The `at` of an activity is virtual time, and `time` is wall-clock time. */
    logEvent: (event: EmulatorEvent) => printLine(getLevel(event), event),
    logLifecycle: (event: "ready" | "stopping" | "stopped", details: object = {}) =>
      printLine("info", { event, ...details }),
    logMessage: (level: LogLevel, message: string) => printLine(level, { event: "message", message }),
  };
}

function getLevel(event: EmulatorEvent): LogLevel {
  if (event.event === "request") return event.status >= 500 ? "error" : event.status === 0 ? "warn" : "info";
  if (event.event === "delivery") return event.outcome === "delivered" ? "info" : "warn";
  return event.event === "dropped" ? "warn" : "info";
}
type EventOfKind<Name extends EmulatorEvent["event"]> = Extract<EmulatorEvent, { event: Name }>;

/** On a terminal with this many columns, the line has only the time of day, and long paths are cut. */
export function formatActivityLine(event: EmulatorEvent, columns?: number): StyledLine {
  switch (event.event) {
    case "request":
      return formatRequestLine(event, columns);
    case "delivery":
      return formatDeliveryLine(event, columns);
    case "clock":
      return [dim(formatLineTime(event.to, columns)), "  ", cyan("time"), `  ${event.from} → ${event.to}`];
    case "state":
      return [dim(formatLineTime(event.at, columns)), "  ", cyan("state"), "  replaced"];
    case "dropped":
      return [yellow(`… ${event.count} more`)];
  }
}

export const formatLineTime = (iso: string, columns: number | undefined): string =>
  columns === undefined ? iso : iso.slice(11, 19);

function formatRequestLine(
  { at, method, target, status, duration_ms: durationMs, ...event }: EventOfKind<"request">,
  columns?: number,
): StyledLine {
  const time = formatLineTime(at, columns);
  const findingsNote = event.findings.length === 0 ? "" : ` (${event.findings.join(", ")})`;
  const description = `${event.failure ?? event.operation ?? "not declared"}${findingsNote}`;
  const before = `  ${String(durationMs).padStart(4)} ms  ${method.padEnd(6)} `;
  const room = (columns ?? Number.POSITIVE_INFINITY) - time.length - 5 - before.length;
  const path = truncateText(target, Math.max(10, room - description.length - 2));
  const rest = Math.max(0, room - path.length - 2);
  return [
    dim(time),
    "  ",
    styleStatus(status, status === 0 ? "---" : String(status)),
    `${before}${path}`,
    dim(rest < 4 ? "" : `  ${truncateText(description, rest)}`),
  ];
}

function formatDeliveryLine(
  { at, attempt, status, error, outcome, ...event }: EventOfKind<"delivery">,
  columns?: number,
): StyledLine {
  const result = error === null ? (status === null ? "" : styleStatus(status)) : red(error);
  const took = event.duration_ms === null ? "" : `  ${String(Math.round(event.duration_ms)).padStart(4)} ms`;
  const contract = event.composite_id === null ? "" : ` ${event.composite_id}`;
  const next = event.next_attempt_at === null ? undefined : formatLineTime(event.next_attempt_at, columns);
  // A retry that will be skipped is no retry.
  const isSkipped = attempt !== null && next !== undefined && event.webhook_disabled;
  return [
    dim(formatLineTime(at, columns)),
    "  ",
    ...(attempt === null ? [] : [result, took, "  "]),
    `webhook ${event.webhook_id}  ${event.activity}${contract}`,
    ...(attempt === null ? ["  "] : [event.resend ? "  resend" : `  attempt ${event.scheduled_number}`]),
    ...(isSkipped ? [] : [attempt === null ? "" : ", ", styleState(outcome)]),
    dim(
      next === undefined ? "" : formatNextAttempt(next, event.webhook_disabled ? "the webhook is disabled" : undefined),
    ),
  ];
}
