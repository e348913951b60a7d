import type { Fail } from "../../src/api/failures.ts";
import type { Runner } from "../clock/runner.ts";
import { streamItems } from "../http/event-stream.ts";
import { causes } from "../store/causes.ts";
import type { Store } from "../store/port.ts";
import { gatherTrace, parseTraceRef, type TraceRef } from "../trace/gather.ts";
import { buildTrace } from "../trace/tree.ts";
import { attempts, deliveries, webhookEvents } from "../webhooks/deliveries.ts";
import { deleteExpiredRecords } from "../webhooks/log.ts";
import { streamWhileAllowed } from "./access/credentials.ts";
import type { ControlCaller } from "./console/sessions.ts";
import type { ControlContext, ControlHandlers } from "./context.ts";

export const traceHandlers = {
  "traces.show": async ({ params }, context) => {
    const { store, clock, runner, fail } = context;
    const ref = parseRef(params.ref, context);
    await deleteExpiredRecords(store, clock.now());
    const trace = readTrace(store, runner, ref) ?? fail("no-such-trace", { ref: params.ref });
    return { ref: params.ref, ...trace };
  },

  "traces.watch": ({ params }, context) => {
    const { store, runner, fail } = context;
    const ref = parseRef(params.ref, context);
    if (!readTrace(store, runner, ref)) fail("no-such-trace", { ref: params.ref });
    // A reset removes the trace.
    const readNodes = () => readTrace(store, runner, ref)?.nodes ?? [];
    return streamWhileAllowed(context, (signal) => watchChanges(context, signal, readNodes));
  },
} satisfies ControlHandlers;

/** Rejects a reference that the caller cannot use. Requests, timers and clock advances belong to no workspace. */
function parseRef(
  ref: string,
  { caller, fail }: { readonly caller: ControlCaller; readonly fail: Fail<"malformed-ref" | "no-such-trace"> },
): TraceRef {
  const parsed = parseTraceRef(ref) ?? fail("malformed-ref", { ref });
  const isOfWorkspace = parsed.by !== "cause" && parsed.by !== "trace";
  if (caller.token.workspace !== undefined && !isOfWorkspace) fail("no-such-trace", { ref });
  return parsed;
}

function readTrace(store: Store, runner: Runner, ref: TraceRef) {
  const rows = gatherTrace(store, ref);
  if (!rows) return undefined;
  const traceId = ref.by === "trace" ? ref.id : undefined;
  return { ...buildTrace(rows, { traceId, describeJob: (kind) => runner.describeKind(kind) }), more: rows.isTruncated };
}

/** Minimum interval between reads of a trace, in wall-clock milliseconds. Other requests wait during a read. */
const minIntervalMs = 100;

/** Yields existing entries, then new and changed entries, until the signal is aborted. */
function watchChanges<Node extends { readonly id: string }>(
  { store, wall }: Pick<ControlContext, "store" | "wall">,
  signal: AbortSignal,
  readNodes: () => readonly Node[],
): AsyncGenerator<Node> {
  const lastTexts = new Map<string, string>();
  const watch = (notify: () => void) => store.watch([causes, webhookEvents, deliveries, attempts], notify);
  return streamItems(signal, watch, async () => {
    if (lastTexts.size > 0) await wall.sleep(minIntervalMs, signal);
    const nodes = readNodes();
    return nodes.filter((node) => {
      const text = JSON.stringify(node);
      const isChanged = lastTexts.get(node.id) !== text;
      lastTexts.set(node.id, text);
      return isChanged;
    });
  });
}
