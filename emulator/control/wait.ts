import type { wait } from "../../src/api/emulator/wait.ts";
import type { InputOf } from "../../src/api/operation.ts";
import { toIsoMillis } from "../../src/base/clock.ts";
import { contracts, formatCompositeId, readCompositeIds } from "../cluster/contracts/rows.ts";
import { streamItems } from "../http/event-stream.ts";
import type { Store, View } from "../store/port.ts";
import { type Delivery, deliveries, type WebhookEvent, webhookEvents } from "../webhooks/deliveries.ts";
import { listDeliveries } from "../webhooks/log.ts";
import { webhookRows } from "../webhooks/webhooks.ts";
import { watchAccess } from "./access/access-watch.ts";
import type { ControlHandlers } from "./context.ts";
import { requireContractById } from "./contracts/contracts.ts";

type WaitQuery = InputOf<typeof wait>["query"];
type ContractWaitQuery = WaitQuery & { readonly contract_id: number | undefined };

interface WaitState {
  readonly reached: boolean;
  readonly events?: readonly WebhookEvent[];
  readonly deliveries?: readonly Delivery[];
  readonly contract?: {
    readonly contract_id: number;
    readonly composite_id: string;
    readonly contract_status: ContractStatus;
  };
}
type ContractStatus = NonNullable<WaitQuery["contract_status"]>;

const maxNearMatches = 10;

export const waitHandlers = {
  "emulator.wait": async ({ query }, context) => {
    const { store, clock, wall, fail } = context;
    const contract =
      query.contract === undefined
        ? undefined
        : await store.read((view) => requireContractById(view, query.contract!, fail));
    const { webhook } = query;
    if (webhook !== undefined && !(await store.read((view) => isKnown(view, webhook))))
      fail("no-such-webhook", { id: webhook });
    const awaited = { ...query, contract_id: contract?.id };
    const look = (view: View): Promise<WaitState> =>
      awaited.contract_status
        ? checkStatus(view, awaited.contract_id!, awaited.contract_status)
        : awaited.outcome
          ? checkDeliveries(view, awaited)
          : checkEvents(view, awaited);
    const access = watchAccess(context);
    const timeout = new AbortController();
    const isOver = AbortSignal.any([access.signal, timeout.signal]);
    void wall.sleep(query.timeout_ms, isOver).then(() => timeout.abort());
    const found = await waitUntil(store, look, isOver).finally(() => {
      timeout.abort();
      access.release();
    });
    if (access.hasEnded()) fail("unknown-control-token");
    const { events = [], deliveries: deliveryRows = [] } = found;
    const [eventIds, deliveryIds] = await store.read((view) =>
      Promise.all([readCompositeIds(view, events), readCompositeIds(view, deliveryRows)]),
    );
    return {
      reached: found.reached,
      now: toIsoMillis(clock.now()),
      activities: events.map(({ activity, contract_id, at }, i) => ({
        activity,
        contract_id,
        composite_id: eventIds[i] ?? null,
        at: toIsoMillis(at),
      })),
      deliveries: deliveryRows.map(({ id, webhook_id, activity, contract_id, outcome }, i) => ({
        id,
        webhook_id,
        activity,
        contract_id,
        composite_id: deliveryIds[i] ?? null,
        outcome,
      })),
      contract: found.contract ?? null,
    };
  },
} satisfies ControlHandlers;

const isKnown = async (view: View, webhook: number): Promise<boolean> =>
  (await view.get(webhookRows, webhook)) !== undefined ||
  (await view.count(deliveries, { by: "webhook", equals: webhook })) > 0;

/**
 * Looks at the start, at each change and at the end. Returns the first state that meets the condition, or the last
 * observed one.
 */
async function waitUntil(
  store: Store,
  look: (view: View) => Promise<WaitState>,
  isOver: AbortSignal,
): Promise<WaitState> {
  const watch = (ring: () => void) => store.watch([webhookEvents, deliveries, contracts], ring);
  const states = streamItems(isOver, watch, async () => [await store.read(look)]);
  for await (const state of states) if (state.reached) return state;
  return store.read(look);
}

async function checkEvents(view: View, { activity, contract_id, since, count }: ContractWaitQuery): Promise<WaitState> {
  const from = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since);
  const slice =
    contract_id === undefined
      ? { by: "activity" as const, equals: activity! }
      : { by: "contract" as const, equals: contract_id };
  const all = await view.list(webhookEvents, { ...slice, reverse: true });
  const matching = all.filter((event) => event.activity === activity && event.at >= from);
  if (matching.length >= count) return { reached: true, events: matching.slice(0, count) };
  const near =
    contract_id === undefined ? await view.list(webhookEvents, { reverse: true, limit: maxNearMatches }) : all;
  return { reached: false, events: near.slice(0, maxNearMatches) };
}

async function checkDeliveries(view: View, awaited: ContractWaitQuery): Promise<WaitState> {
  const { activity, outcome, webhook, contract_id, since, count } = awaited;
  const from = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since);
  const filter = { activity, webhook_id: webhook, contract_id };
  const { items } = await listDeliveries(view, { ...filter, outcome }, { offset: 0, limit: count });
  const matching = items.map(({ delivery }) => delivery).filter((row) => row.created_at >= from);
  if (matching.length >= count) return { reached: true, deliveries: matching };
  const near = await listDeliveries(view, filter, { offset: 0, limit: maxNearMatches });
  return { reached: false, deliveries: near.items.map(({ delivery }) => delivery) };
}

async function checkStatus(view: View, contractId: number, wanted: ContractStatus): Promise<WaitState> {
  const row = await view.get(contracts, contractId);
  // The contract was deleted during the wait, so it has no status.
  if (!row || row.deleted_at !== null) return { reached: false };
  const contract = {
    contract_id: row.id,
    composite_id: formatCompositeId(row),
    contract_status: row.status as ContractStatus,
  };
  return { reached: row.status === wanted, contract };
}
