import type { wait } from "../../src/api/emulator/wait.ts";
import type { InputOf, ResultOf } from "../../src/api/operation.ts";
import { toIsoMillis } from "../../src/base/clock.ts";
import { contracts, formatCompositeId, readCompositeId } from "../cluster/contracts/rows.ts";
import { streamItems } from "../http/event-stream.ts";
import type { Rows, Store, View } from "../store/port.ts";
import { matchesFilter, type RowFilter } from "../store/rows.ts";
import { type Delivery, deliveries, type WebhookEvent, webhookEvents } from "../webhooks/deliveries.ts";
import { listDeliveries } from "../webhooks/log.ts";
import { webhookRows } from "../webhooks/webhooks.ts";
import { watchAccess } from "./access/credentials.ts";
import type { ControlHandlers } from "./context.ts";
import { requireContractById } from "./contracts/contracts.ts";

type WaitQuery = InputOf<typeof wait>["query"];
type ContractWaitQuery = WaitQuery & { readonly contract_id: number | undefined };

type WaitState = Pick<ResultOf<typeof wait>, "reached"> & Partial<ResultOf<typeof wait>>;
type ContractStatus = NonNullable<WaitQuery["contract_status"]>;

const maxNearMatches = 10;

export const waitHandlers = {
  "emulator.wait": async ({ query }, context) => {
    const { store, clock, wall, fail } = context;
    const { webhook, activity, outcome, contract_status } = query;
    const contract = query.contract === undefined ? undefined : requireContractById(store, query.contract, fail);
    if (webhook !== undefined && !isExistingWebhook(store, webhook)) fail("no-such-webhook", { id: webhook });
    const contract_id = contract?.id;
    const condition = { ...query, contract_id };
    const [readState, watch] = contract_status
      ? ([
          (view: View) => checkStatus(view, contract_id!, contract_status),
          watchMatches(store, contracts, { id: contract_id! }),
        ] as const)
      : outcome
        ? ([
            (view: View) => checkDeliveries(view, condition),
            watchMatches(store, deliveries, { activity, outcome, webhook_id: webhook, contract_id }),
          ] as const)
        : ([
            (view: View) => checkEvents(view, condition),
            watchMatches(store, webhookEvents, { activity, contract_id }),
          ] as const);
    const access = watchAccess(context);
    const timeout = new AbortController();
    const endSignal = AbortSignal.any([access.signal, timeout.signal]);
    void wall.sleep(query.timeout_ms, endSignal).then(() => timeout.abort());
    const state = await waitUntil(store, readState, watch, endSignal).finally(() => {
      timeout.abort();
      access.release();
    });
    if (access.hasEnded()) fail("unknown-control-token");
    return {
      reached: state.reached,
      now: toIsoMillis(clock.now()),
      activities: state.activities ?? [],
      deliveries: state.deliveries ?? [],
      contract: state.contract ?? null,
    };
  },
} satisfies ControlHandlers;

const isExistingWebhook = (view: View, webhook: number): boolean =>
  view.get(webhookRows, webhook) !== undefined || view.count(deliveries, { by: "webhook", equals: webhook }) > 0;

/** Returns a function that watches for rows that match. A read after each change would slow down all other requests. */
const watchMatches =
  <Row extends object>(store: Store, collection: Rows<Row>, filter: RowFilter<NoInfer<Row>>) =>
  (notify: () => void) =>
    store.watch([collection], (changes) => {
      const isChanged =
        typeof changes === "string" || changes.some(({ after }) => after && matchesFilter(after as Row, filter));
      if (isChanged) notify();
    });

/** Returns the first state that meets the condition, or the last state. */
async function waitUntil(
  store: Store,
  readState: (view: View) => WaitState,
  watch: (notify: () => void) => () => void,
  endSignal: AbortSignal,
): Promise<WaitState> {
  const states = streamItems(endSignal, watch, () => [readState(store)]);
  for await (const state of states) if (state.reached) return state;
  return readState(store);
}

function checkEvents(view: View, { activity, contract_id, since, count }: ContractWaitQuery): WaitState {
  const from = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since);
  const slice =
    contract_id === undefined
      ? { by: "activity" as const, equals: activity!, limit: count }
      : { by: "contract" as const, equals: contract_id };
  const toRecord = ({ activity, contract_id, at }: WebhookEvent) => ({
    ...{ activity, contract_id, composite_id: readCompositeId(view, contract_id) },
    at: toIsoMillis(at),
  });
  const events = view.list(webhookEvents, { ...slice, reverse: true });
  const matches = events.filter((event) => event.activity === activity && event.at >= from);
  if (matches.length >= count) return { reached: true, activities: matches.slice(0, count).map(toRecord) };
  const nearMatches =
    contract_id === undefined ? view.list(webhookEvents, { reverse: true, limit: maxNearMatches }) : events;
  return { reached: false, activities: nearMatches.slice(0, maxNearMatches).map(toRecord) };
}

function checkDeliveries(view: View, condition: ContractWaitQuery): WaitState {
  const { activity, outcome, webhook, contract_id, since, count } = condition;
  const from = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since);
  const filter = { activity, webhook_id: webhook, contract_id };
  const toRecord = ({ id, webhook_id, activity, contract_id, outcome }: Delivery) => ({
    ...{ id, webhook_id, activity, contract_id, outcome },
    composite_id: readCompositeId(view, contract_id),
  });
  const { rows } = listDeliveries(view, { ...filter, outcome }, { offset: 0, limit: count });
  const matches = rows.filter((row) => row.created_at >= from);
  if (matches.length >= count) return { reached: true, deliveries: matches.map(toRecord) };
  const nearMatches = listDeliveries(view, filter, { offset: 0, limit: maxNearMatches });
  return { reached: false, deliveries: nearMatches.rows.map(toRecord) };
}

function checkStatus(view: View, contractId: number, expectedStatus: ContractStatus): WaitState {
  const row = view.get(contracts, contractId);
  // A contract that was deleted during the wait has no status.
  if (!row || row.deleted_at !== null) return { reached: false };
  const contract = {
    contract_id: row.id,
    composite_id: formatCompositeId(row),
    contract_status: row.status as ContractStatus,
  };
  return { reached: row.status === expectedStatus, contract };
}
