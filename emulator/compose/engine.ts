import type { Operation } from "../../src/api/operation.ts";
import { emulatorResource } from "../../src/api/trace-span.ts";
import { readOtelSettings } from "../../src/base/otel.ts";
import { pluralize } from "../../src/base/text.ts";
import type { ObservationApplier } from "../../src/verify/observed/apply.ts";
import { Runner } from "../clock/runner.ts";
import type { VirtualClock } from "../clock/virtual-clock.ts";
import { createContractJobHandlers } from "../cluster/contracts/lifecycle/execution.ts";
import { createRouterClient } from "../cluster/reports/report.ts";
import { createReportJobHandlers } from "../cluster/reports/report-contents.ts";
import { getReceiverRules } from "../domain/settings.ts";
import { createOutgoingFaultInterceptor, type Faults } from "../faults/faults.ts";
import { createForwarder, type Forwarder } from "../http/outgoing/forward.ts";
import { createSpanCollector } from "../http/outgoing/span-collector.ts";
import { createWebhookSender } from "../http/outgoing/webhook-sender.ts";
import type { HttpResponse, ResponseObserver } from "../http/reply.ts";
import type { EmulatorOptions } from "../published.d.ts";
import type { Store } from "../store/port.ts";
import { TraceExporter } from "../trace/export.ts";
import { createDeliveryJobHandlers } from "../webhooks/deliver.ts";
import type { CleanupStack } from "./cleanup-stack.ts";
import type { ProcessContext } from "./process-context.ts";

interface EngineOptions {
  readonly store: Store;
  readonly clock: VirtualClock;
  readonly faults: Faults;
  /** Address of the router after it accepts requests. Clusters report to it. */
  readonly routerUrl: Promise<string>;
  /** When it aborts, pending work is no longer awaited. */
  readonly closeSignal: AbortSignal;
  readonly closing: CleanupStack;
}

/** Starts what acts without a request: the schedule (deliveries, contract timers, reports) and everything sent. */
export function startEngine(
  { wall, settings, deliveries, links, createCauseRow, readiness, options, log }: ProcessContext,
  { store, clock, faults, routerUrl, closeSignal, closing }: EngineOptions,
): { readonly runner: Runner; readonly forwarder: Forwarder } {
  const forwarder = createForwarder({ wall, pseudonym: `svc-${readiness.instance_id}`, links });
  closing.push(() => forwarder.close());
  const sender = createWebhookSender({
    wall,
    ...getReceiverRules(settings),
    connectTimeoutMs: settings.webhookConnectTimeoutMs,
    responseTimeoutMs: settings.webhookResponseTimeoutMs,
  });
  closing.push(() => sender.close());
  const { deterministic, upstreamTimeoutMs: timeoutMs } = settings;
  const router = createRouterClient({ forwarder, timeoutMs, routerUrl });
  const runner = new Runner({
    store,
    clock,
    wall,
    closeSignal,
    graceMs: options.graceMs,
    onReplaceState: () => links.abandon(),
    createCauseRow,
    deterministic,
    handlers: {
      ...createContractJobHandlers({ clock, settings }),
      ...createReportJobHandlers({ clock, router, onGiveUp: log }),
      ...createDeliveryJobHandlers({
        clock,
        wall,
        settings,
        outgoing: sender,
        intervene: createOutgoingFaultInterceptor(faults),
        notifier: deliveries,
      }),
    },
    onError: (entry, error) => log(`schedule entry ${entry.id} (${entry.kind}) failed: ${String(error)}`),
  });
  closing.push(() => runner.close());
  return { runner, forwarder };
}

/** Sends spans to the address in the variables. Returns undefined if they name no address. */
export function createTraceExport(
  { otel, deterministic = false }: EmulatorOptions,
  parts: Pick<ConstructorParameters<typeof TraceExporter>[0], "store" | "wall" | "requestLog" | "log">,
): TraceExporter | undefined {
  const { settings: otelSettings, notes } = readOtelSettings(otel ?? {}, emulatorResource["service.name"]);
  for (const note of notes) parts.log(note);
  if (!otelSettings) return undefined;
  const { resource } = otelSettings;
  const collector = createSpanCollector({ ...otelSettings, wall: parts.wall });
  return new TraceExporter({ ...parts, deterministic, resource, collector });
}

/** Creates the callback by which listeners apply observations. Streams and bytes pass unchanged. */
export const observeWith =
  (observer: ObservationApplier): ResponseObserver =>
  (operation: Operation, response: HttpResponse) => {
    const { status, headers, body } = response;
    if (response.isForeign || (body !== undefined && typeof body !== "string")) return undefined;
    const observed = observer.applyToResponse(operation, { status, headers, body });
    if (!observed) return undefined;
    const finding = observed.rules
      .map(({ id, count, at }) => `${id} (observed ${pluralize(count, "time")}, last at ${at})`)
      .join("; ");
    return { response: { ...response, ...observed.response }, finding };
  };
