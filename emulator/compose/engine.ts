import type { Clock, Wall } from "../../src/base/clock.ts";
import { within } from "../../src/base/within.ts";
import { Runner } from "../clock/runner.ts";
import { endOf, schedule } from "../clock/schedule.ts";
import type { VirtualClock } from "../clock/virtual-clock.ts";
import { contractJobHandlers } from "../cluster/contracts/lifecycle/job-handlers.ts";
import { reportJobHandlers } from "../cluster/reports/job-handlers.ts";
import { isReport, routerLine } from "../cluster/reports/report.ts";
import type { Faults } from "../faults/faults.ts";
import { outgoingFaults } from "../faults/outgoing.ts";
import { createForwarder, type Forwarder } from "../http/outgoing/forward.ts";
import type { RequestLinks } from "../http/outgoing/links.ts";
import { createOutgoing } from "../http/outgoing/outgoing.ts";
import type { MakeCauseRow } from "../store/causes.ts";
import type { Store } from "../store/port.ts";
import { deliveryJobHandlers } from "../webhooks/deliver.ts";
import type { DeliveryNews } from "../webhooks/news.ts";
import { receiverRules, type Settings } from "../world/settings.ts";
import type { Closing } from "./closing.ts";

interface Setup {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly wall: Wall;
  readonly settings: Settings;
  readonly faults: Faults;
  /** Told what becomes of deliveries. */
  readonly deliveries: DeliveryNews;
  readonly links: RequestLinks;
  readonly causeRow: MakeCauseRow;
  readonly instanceId: string;
  /** Where the router listens, once it takes requests: clusters report to it. */
  readonly routerUrl: Promise<string>;
  readonly graceMs: number | undefined;
  /** Aborted: nothing is waited for any more. */
  readonly hurry: AbortSignal;
  readonly log: (line: string) => void;
  readonly closing: Closing;
}

/** What goes on by itself, and everything that is sent. */
export interface Engine {
  readonly runner: Runner;
  readonly forwarder: Forwarder;
}

/** Starts to do what comes due: deliveries, what contracts do by themselves, and what clusters report. */
export function startEngine(setup: Setup): Engine {
  const { store, clock, wall, settings, faults, links, closing, log } = setup;
  const forwarder = createForwarder({ wall, mark: `svc-${setup.instanceId}`, links });
  closing.push(() => forwarder.close());
  const outgoing = createOutgoing({
    wall,
    ...receiverRules(settings),
    connectTimeoutMs: settings.webhookConnectTimeoutMs,
    responseTimeoutMs: settings.webhookResponseTimeoutMs,
  });
  closing.push(() => outgoing.close());
  const { deterministic, upstreamTimeoutMs: timeoutMs } = settings;
  const line = routerLine({ forwarder, timeoutMs, routerUrl: setup.routerUrl });
  const runner = Runner.start({
    store,
    clock,
    wall,
    hurry: setup.hurry,
    graceMs: setup.graceMs,
    onTakeOver: () => links.abandon(),
    causeRow: setup.causeRow,
    deterministic,
    handlers: {
      ...contractJobHandlers({ clock, settings }),
      ...reportJobHandlers({ clock, wall, deterministic, line, giveUp: log }),
      ...deliveryJobHandlers({
        clock,
        wall,
        settings,
        outgoing,
        intervene: outgoingFaults(faults),
        news: setup.deliveries,
      }),
    },
    onError: (entry, error) => log(`the schedule's entry ${entry.id} (${entry.kind}) failed: ${String(error)}`),
  });
  closing.push(() => runner.close());
  return { runner, forwarder };
}

/** Wall time: a report takes some milliseconds. */
const longestMs = 1_000;
const lookEveryMs = 5;
/** Of what is due, so many entries are looked at: reports begin at once, and stand in front. */
const looked = 256;

/**
 * When an emulator closes: lets what clusters have to report go out while the router still takes it. What remains is
 * reported after the next start.
 */
export async function reportRest(
  { store, clock, wall }: { readonly store: Store; readonly clock: Clock; readonly wall: Wall },
  hurry: AbortSignal,
): Promise<void> {
  const enough = new AbortController();
  const signal = AbortSignal.any([hurry, enough.signal]);
  await within(
    wall,
    longestMs,
    untilNothingIsDue().catch(() => {}),
  ); // A disk that refuses keeps nobody from closing.
  enough.abort("enough");

  async function untilNothingIsDue(): Promise<void> {
    while (!signal.aborted) {
      const slice = { by: "turn", to: endOf(clock.now()), limit: looked } as const;
      const due = await store.read((view) => view.list(schedule, slice));
      if (!due.some(({ kind }) => isReport(kind))) return;
      await wall.sleep(lookEveryMs, signal);
    }
  }
}
