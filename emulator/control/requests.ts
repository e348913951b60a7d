import type { Operation } from "../../src/api/operation.ts";
import { registry } from "../../src/api/registry.ts";
import { redactText, redactUrl } from "../../src/api/secrets.ts";
import { isoMillis } from "../../src/base/clock.ts";
import { nearestOperation } from "../http/request-log/nearest.ts";
import { redactHeaders } from "../http/request-log/redact.ts";
import type { LoggedRequest, RequestLog } from "../http/request-log/request-log.ts";
import type { ControlHandlers, ControlWorld } from "./world.ts";

interface Filters {
  readonly service?: string | undefined;
  readonly operation?: string | undefined;
  readonly status?: number | undefined;
  readonly since?: string | undefined;
}

export const requestHandlers = {
  "requests.list": ({ query }, { requestLog }) => {
    const matching = requestLog.list().filter(filterOf(query));
    return { items: matching.slice(-query.limit).map(shown), total: matching.length };
  },

  "requests.watch": ({ query }, { requestLog, request }) => watched(requestLog, filterOf(query), request.signal),

  "requests.clear": (_, { requestLog }) => {
    requestLog.clear();
    return undefined;
  },
} satisfies ControlHandlers<Pick<ControlWorld, "requestLog" | "store" | "clock" | "wall" | "ids">>;

function filterOf({ service, operation, status, since }: Filters): (entry: LoggedRequest) => boolean {
  const from = since === undefined ? undefined : Date.parse(since);
  return (entry) =>
    (service === undefined || entry.service === service) &&
    (operation === undefined || entry.operation === operation) &&
    (status === undefined || entry.status === status) &&
    (from === undefined || entry.at >= from);
}

async function* watched(log: RequestLog, wanted: (entry: LoggedRequest) => boolean, signal: AbortSignal) {
  const waiting: LoggedRequest[] = [];
  let wake = () => {};
  const wakeUp = () => wake();
  const end = log.watch((entry) => {
    if (!wanted(entry)) return;
    waiting.push(entry);
    wake();
  });
  signal.addEventListener("abort", wakeUp);
  try {
    while (!signal.aborted) {
      for (const entry of waiting.splice(0)) yield shown(entry);
      if (waiting.length > 0 || signal.aborted) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    signal.removeEventListener("abort", wakeUp);
    end();
  }
}

/** An entry as the control plane prints it: without secrets. */
function shown(entry: LoggedRequest) {
  const { listener, service, operation, method, status, failure, findings } = entry;
  const isUnknown = operation === undefined || operation === "catch-all";
  return {
    id: entry.id,
    at: isoMillis(entry.at),
    wall_at: isoMillis(entry.wallAt),
    listener,
    service,
    operation: operation ?? null,
    nearest: isUnknown ? nearest(entry) : null,
    method,
    target: redactUrl(entry.target),
    headers: redactHeaders(entry.rawHeaders),
    status,
    failure: failure ?? null,
    findings: findings.map(({ code, detail }) =>
      detail === undefined ? { code } : { code, detail: redactText(detail) },
    ),
    duration_ms: entry.durationMs,
  };
}

const candidates = (registry as readonly Operation[]).filter(({ id }) => id !== "catch-all");

function nearest({ method, target }: LoggedRequest): string | null {
  const found = nearestOperation(method, target.split("?", 1)[0]!, candidates);
  return found ? `${found.id} ${[found.method].flat()[0]} ${found.path}` : null;
}
