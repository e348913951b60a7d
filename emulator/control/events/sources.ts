import { schedule } from "../../clock/schedule.ts";
import { clockState } from "../../clock/virtual-clock.ts";
import { contracts } from "../../cluster/contracts/rows.ts";
import { emails } from "../../domain/emails.ts";
import type { LoggedRequest } from "../../http/request-log/request-log.ts";
import { deviceGrants } from "../../router/device/rows.ts";
import type { RowChange } from "../../store/port.ts";
import { attempts, deliveries } from "../../webhooks/deliveries.ts";
import { streamWhileAllowed } from "../access/access-watch.ts";
import type { ControlContext, ControlHandlers } from "../context.ts";
import { isControlPlaneRead } from "../requests.ts";

/** An event before it is described. The last three refer to the current state. */
export type ActivityItem =
  | { readonly request: LoggedRequest }
  | { readonly rows: readonly RowChange[]; readonly at: number }
  | "state"
  | "clock"
  | "faults"
  | "snapshots";

/** The collections whose changes are published. */
const watchedCollections = [deliveries, attempts, contracts, emails, deviceGrants];

/** Publishes events from now on, each once it is durable. Returns a function that stops it. */
export function watchActivityItems(
  {
    store,
    clock,
    requestLog,
    faults,
    snapshots,
  }: Pick<ControlContext, "store" | "clock" | "requestLog" | "faults" | "snapshots">,
  emit: (news: ActivityItem) => void,
): () => void {
  const ends = [
    requestLog.watch((request) => {
      if (!isControlPlaneRead(request)) emit({ request });
    }),
    store.watch(watchedCollections, (rows) => {
      if (rows === "replaced") emit("state");
      else if (rows !== "writable") emit({ rows, at: clock.now() });
    }),
    store.watch([clockState, schedule], () => emit("clock")),
    faults.watch(() => emit("faults")),
    snapshots.watch(() => emit("snapshots")),
  ];
  return () => {
    for (const end of ends) end();
  };
}

export const eventHandlers = {
  // The header with the last received id takes precedence over the one in the URL, because a browser repeats the URL
  // when it reconnects.
  "events.watch": ({ query }, context) => {
    const { feed, request } = context;
    const after = request.headers["last-event-id"] || query.after;
    return streamWhileAllowed(context, (signal) => feed.follow(after, signal));
  },
} satisfies ControlHandlers;
