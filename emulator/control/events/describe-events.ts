import type * as z from "zod";
import type { followEvents } from "../../../src/api/emulator/console.ts";
import { toIsoMillis } from "../../../src/base/clock.ts";
import { schedule } from "../../clock/schedule.ts";
import { clockState } from "../../clock/virtual-clock.ts";
import { type Contract, contracts, formatCompositeId } from "../../cluster/contracts/rows.ts";
import { emails } from "../../domain/emails.ts";
import type { LoggedRequest } from "../../http/request-log/request-log.ts";
import { deviceGrants } from "../../router/device/rows.ts";
import type { RowChange, RowKey, Rows, View } from "../../store/port.ts";
import { attempts, deliveries } from "../../webhooks/deliveries.ts";
import { streamWhileAllowed } from "../access/credentials.ts";
import { toClockRecord } from "../clock.ts";
import type { ControlContext, ControlHandlers } from "../context.ts";
import { toAttemptRecord, toDeliveryRecord } from "../deliveries.ts";
import { toDeviceRecord } from "../device-grants.ts";
import { toEmailRecord } from "../emails.ts";
import { toFaultRecord } from "../faults.ts";
import { isControlPlaneRead, toRequestRecord } from "../requests.ts";

type WithoutId<Event> = Event extends unknown ? Omit<Event, "id"> : never;
type EventDescription = WithoutId<z.input<(typeof followEvents.responses)[200]["schema"]>>;

type DescriptionContext = Pick<
  ControlContext,
  "store" | "clock" | "runner" | "faults" | "snapshots" | "settings" | "clusters"
>;

/** Events are in order. Those about the current state are described once, at the end. */
export async function describeEvents(
  context: DescriptionContext,
  items: readonly ActivityItem[],
): Promise<readonly EventDescription[]> {
  const descriptions = items.flatMap((item) => describeItem(context.store, context, item));
  return [...descriptions, ...(await describePresentState(context, new Set(items)))];
}

function describeItem(view: View, context: DescriptionContext, item: ActivityItem): readonly EventDescription[] {
  if (item === "state") return [{ at: toIsoMillis(context.clock.now()), event: "state", ref: null }];
  if (typeof item === "string") return [];
  if ("request" in item) return [describeRequest(item.request)];
  return describeRowEvents(view, context, item.rows, toIsoMillis(item.at));
}

const describeRequest = (request: Parameters<typeof toRequestRecord>[0]): EventDescription => ({
  at: toIsoMillis(request.at),
  event: "request",
  ref: `request:${request.id}`,
  request: toRequestRecord(request),
});

async function describePresentState(
  context: DescriptionContext,
  items: ReadonlySet<ActivityItem>,
): Promise<readonly EventDescription[]> {
  const at = toIsoMillis(context.clock.now());
  const descriptions: EventDescription[] = [];
  if (items.has("clock"))
    descriptions.push({ at, event: "clock", ref: null, clock: toClockRecord(context.runner.readStatus()) });
  if (items.has("faults"))
    descriptions.push({ at, event: "faults", ref: null, faults: context.faults.list().map(toFaultRecord) });
  if (items.has("snapshots"))
    descriptions.push({ at, event: "snapshots", ref: null, snapshots: await context.snapshots.list() });
  return descriptions;
}

/** Each row is reported once, with its last value. Deleted rows are not reported. */
function describeRowEvents(view: View, context: DescriptionContext, changes: readonly RowChange[], at: string) {
  const newAttempts = listNewest(changes, attempts);
  return [
    ...listNewest(changes, contracts).map((row) => describeContract(row, changes, at)),
    ...listNewest(changes, deliveries).map((row): EventDescription => {
      const attempt = newAttempts.findLast(({ delivery_id }) => delivery_id === row.id);
      const record = toDeliveryRecord(view, row, context.settings);
      const delivery = { ...record, attempt: attempt === undefined ? null : toAttemptRecord(attempt) };
      return { at, event: "delivery", ref: `delivery:${row.id}`, delivery };
    }),
    ...listNewest(changes, emails).map((row): EventDescription => {
      return { at, event: "email", ref: `email:${row.id}`, email: toEmailRecord(view, row, context) };
    }),
    ...listNewest(changes, deviceGrants)
      .map(toDeviceRecord)
      .map((device): EventDescription => ({ at, event: "device", ref: `device:${device.user_code}`, device })),
  ];
}

function listNewest<Row extends object, Key extends RowKey>(
  changes: readonly RowChange[],
  { name, key }: Rows<Row, string, Key>,
): Row[] {
  const newestRows = new Map<Key, Row>();
  for (const { collection, before, after } of changes) {
    if (collection !== name) continue;
    if (after !== undefined) newestRows.set(key(after as Row), after as Row);
    else newestRows.delete(key(before as Row));
  }
  return [...newestRows.values()];
}

function describeContract(row: Contract, changes: readonly RowChange[], at: string): EventDescription {
  const firstChange = changes.find(
    ({ collection, before, after }) => collection === contracts.name && ((after ?? before) as Contract).id === row.id,
  );
  const previous = firstChange?.before as Contract | undefined;
  return {
    at,
    event: "contract",
    ref: formatCompositeId(row),
    contract: {
      contract_id: row.id,
      contract_name: row.name,
      contract_status: row.status,
      status_before: previous?.status ?? null,
      cluster_id: row.cluster_id,
      workspace_id: row.workspace_id,
      deleted: row.deleted_at !== null,
    },
  };
}

/** An event before it is described. The last three kinds refer to the current state. */
export type ActivityItem =
  | { readonly request: LoggedRequest }
  | { readonly rows: readonly RowChange[]; readonly at: number }
  | "state"
  | "clock"
  | "faults"
  | "snapshots";

const watchedCollections = [deliveries, attempts, contracts, emails, deviceGrants];

/** Publishes each further event when it is durable. Returns a function that stops watching. */
export function watchActivityItems(
  context: Pick<ControlContext, "store" | "clock" | "requestLog" | "faults" | "snapshots">,
  emit: (item: ActivityItem) => void,
): () => void {
  const { store, clock, requestLog, faults, snapshots } = context;
  const unwatchers = [
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
    for (const unwatch of unwatchers) unwatch();
  };
}

export const eventHandlers = {
  // The header with the last received ID takes precedence over the URL, because a browser repeats the URL when it
  // reconnects.
  "events.watch": ({ query }, context) => {
    const { feed, request } = context;
    const after = request.headers["last-event-id"] || query.after;
    return streamWhileAllowed(context, (signal) => feed.follow(after, signal));
  },
} satisfies ControlHandlers;
