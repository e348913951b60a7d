import type { Clock, WallClock } from "../../../src/base/clock.ts";
import { causeOf } from "../../clock/causes.ts";
import type { JobHandler, JobHandlers } from "../../clock/job-handler.ts";
import { dequeue, enqueue, type ScheduledEntry, schedule } from "../../clock/schedule.ts";
import type { Transaction, View } from "../../store/port.ts";
import { clusterRows } from "../../world/clusters.ts";
import { ReportBatcher } from "./bulk-calls.ts";
import {
  formatReportRef,
  parseReportRef,
  type ReportKind,
  type ReportSender,
  type RouterClient,
  reportKinds,
} from "./report.ts";
import { type ReportContent, reportContents } from "./report-contents.ts";

interface ReportWorld {
  readonly clock: Clock;
  readonly wall: WallClock;
  readonly line: RouterClient;
  /** One thing at a time: no report waits for others. */
  readonly deterministic: boolean;
  /** Told when the router refused so often that it is not asked again. */
  readonly giveUp: (line: string) => void;
}

/** A report that the router does not take is made again after so many virtual minutes each time, then given up. */
const backOffMinutes = [1, 2, 4, 8, 16];

/** Nobody notices it, a busy machine sends some contracts meanwhile, and half of the schedule's slots stay free. */
const gather = { pauseMs: 25, longestMs: 250, most: 32 };

/**
 * What the schedule does with the reports of clusters to the router; the ref of an entry is the id of a contract or a
 * member, and how often it failed.
 */
export function reportJobHandlers(world: ReportWorld): JobHandlers {
  const { line, wall, deterministic } = world;
  const calls = new ReportBatcher({ line, wall, gather, inTurn: deterministic });

  const report = (content: ReportContent, speaker: ReportSender) =>
    content((...call) => line.ask(speaker, ...call), calls.senderFor(speaker));

  const handlerFor = (kind: ReportKind): JobHandler => ({
    prepare: (view, entries) =>
      Promise.all(
        entries.map(async (entry) => {
          const { cluster_id, content } =
            (await reportContents[kind](view, Number(parseReportRef(entry.ref).id))) ?? {};
          const key = cluster_id === undefined ? undefined : await keyOf(view, cluster_id);
          return async (signal) => {
            const nothing = cluster_id === undefined || content === undefined || key === undefined;
            const taken = nothing || (await report(content, { cluster_id, key, cause: causeOf(entry), signal }));
            const outcome = nothing ? "nothing-to-report" : "reported";
            return (tx: Transaction) => (taken ? end(tx, entry, outcome) : again(tx, entry, world));
          };
        }),
      ),
  });
  return Object.fromEntries(reportKinds.map((kind) => [kind, handlerFor(kind)]));
}

/** Undefined for a back end that we do not run: it reports for itself. */
async function keyOf(view: View, clusterId: string): Promise<string | undefined> {
  const row = await view.get(clusterRows, clusterId);
  return row?.external_url === null ? row.key : undefined;
}

async function end(tx: Transaction, entry: ScheduledEntry, outcome: string): Promise<string> {
  if ((await tx.get(schedule, entry.id))?.ref === entry.ref) dequeue(tx, entry);
  return outcome;
}

async function again(tx: Transaction, entry: ScheduledEntry, { clock, giveUp }: ReportWorld): Promise<string> {
  const waiting = await tx.get(schedule, entry.id);
  if (waiting?.ref !== entry.ref) return "gone";
  const { id, failures } = parseReportRef(entry.ref);
  const minutes = backOffMinutes[failures];
  if (minutes === undefined) {
    giveUp(`the router rejected ${entry.kind} ${id} ${failures + 1} times. It is not retried`);
    return end(tx, entry, "given-up");
  }
  enqueue(tx, { ...entry, ref: formatReportRef(id, failures + 1), due: clock.now() + minutes * 60_000 });
  return "retrying";
}
