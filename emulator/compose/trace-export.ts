import { emulatorResource } from "../../src/api/trace-span.ts";
import type { WallClock } from "../../src/base/clock.ts";
import { readOtelSettings } from "../../src/base/tracing/otel-settings.ts";
import { createCollector } from "../http/outgoing/collector.ts";
import type { RequestLog } from "../http/request-log/request-log.ts";
import type { EmulatorOptions } from "../published.d.ts";
import type { Store } from "../store/port.ts";
import { exportTraces, type TraceExport } from "../trace/export.ts";

interface Sources {
  readonly store: Store;
  readonly wall: WallClock;
  readonly requestLog: RequestLog;
  readonly log: (line: string) => void;
}

/** Sends spans where the variables say; undefined where they name nobody. */
export function createTraceExport(
  { otel, deterministic = false }: EmulatorOptions,
  { store, wall, requestLog, log }: Sources,
): TraceExport | undefined {
  const { settings, notes } = readOtelSettings(otel ?? {}, emulatorResource["service.name"]);
  for (const note of notes) log(note);
  if (!settings) return undefined;
  return exportTraces({
    store,
    wall,
    requestLog,
    deterministic,
    log,
    resource: settings.resource,
    collector: createCollector({ ...settings, wall }),
  });
}
