import { parse as parseQuery } from "node:querystring";
import { listRequests } from "../../../api/emulator/requests.ts";
import { findOperationAt, type Operation, type ResultOf } from "../../../api/operation.ts";
import { registry } from "../../../api/registry.ts";
import type { Delivery } from "../../../api/webhook-health/attempts.ts";
import type { Client } from "../../../client/client.ts";
import { UsageError } from "../../process/failure.ts";
import { readDeliveryLog } from "../webhooks/delivery-log.ts";

type LoggedRequest = ResultOf<typeof listRequests>["items"][number];

/** A logged request that can be repeated. */
export interface RecordedAction {
  readonly id: number;
  /** Virtual milliseconds. */
  readonly at: number;
  readonly operation: Operation;
  readonly input: {
    readonly params: Readonly<Record<string, unknown>>;
    readonly query: Readonly<Record<string, unknown>>;
    readonly body: unknown;
  };
  readonly status: number;
  readonly failure: string | null;
  /** ID of the created webhook, and the responses of its receiver. */
  readonly webhook?: { readonly id: number; readonly responses: readonly (number | "down")[] };
}

/** Reads and housekeeping, which a story omits, because it starts a new emulator and advances time itself. */
const skippedOperations =
  /^(clock|requests|emulator|state|snapshots|traces|tokens|sessions|console|events|inbox|metrics)\.|^(catch-all|deliveries\.(list|show|watch))$/;

export async function readRecording(client: Client) {
  const { items } = await client.call(listRequests, { query: { limit: 10_000, bodies: true, reads: false } });
  const { deliveries } = await readDeliveryLog(client);
  // The router forwards requests for the contract API, so the cluster receives the original request.
  const forwardedIds = new Set(items.map(({ id, operation }) => operation === "catch-all" && `request:${id}`));
  const ownRequests = items
    .filter(({ replaced, cause }) => !replaced && (cause === undefined || forwardedIds.has(cause)))
    .filter(({ operation }) => !skippedOperations.test(operation ?? "catch-all"))
    .sort((a, b) => a.id - b.id);
  const actions: RecordedAction[] = [];
  let createdCount = 0;
  for (const request of ownRequests) {
    const operation = registry.find(({ id }) => id === request.operation);
    const action = operation && toAction(request, operation);
    if (!action) continue;
    const createsWebhook = operation.id === "webhooks.create" && request.status < 400;
    // Webhooks have sequential IDs, and a seed contains none.
    if (createsWebhook) createdCount += 1;
    const webhook = { id: createdCount, responses: listReceiverStatuses(createdCount, deliveries) };
    actions.push({ ...action, ...(createsWebhook && { webhook }) });
  }
  return { actions, deliveries, requests: ownRequests.length };
}

/** Returns undefined for a request that the operation does not declare. */
function toAction({ id, at, target, body, status, failure }: LoggedRequest, operation: Operation) {
  const [path = "", search = ""] = target.split(/\?(.*)/s);
  if (findOperationAt([operation], [operation.method].flat()[0]!, path) === undefined) return undefined;
  const query = { ...parseQuery(search, "&", "=", { maxKeys: 0 }) };
  const segments = path.split("/");
  const params = Object.fromEntries(
    operation.path.split("/").flatMap((segment, i) => {
      const name = /^\{(\w+)\}$/.exec(segment)?.[1];
      return name === undefined ? [] : [[name, decodeURIComponent(segments[i]!)]];
    }),
  );
  return { id, at: Date.parse(at), operation, input: { params, query, body }, status, failure };
}

/** Lists the receiver's response to each attempt, oldest first. Repeated responses at the end are listed once. */
function listReceiverStatuses(webhook: number, deliveries: readonly Delivery[]): readonly (number | "down")[] {
  const attempts = deliveries
    .filter(({ webhook_id }) => webhook_id === webhook)
    .flatMap(({ id, attempts }) => attempts.map(({ at, number, status }) => ({ at, id, number, status })))
    .sort((a, b) => a.at.localeCompare(b.at) || a.id - b.id || a.number - b.number);
  if (attempts[0]?.status === null) return ["down"];
  // A listener cannot pause, so it rejects the delivery instead.
  const responses = attempts.map(({ status }) => status ?? 503);
  while (responses.length > 1 && responses.at(-1) === responses.at(-2)) responses.pop();
  return responses.length === 0 ? [200] : responses;
}

/** Failure that a shortened story must reproduce. */
export interface RecordingGoal {
  /** The rejected request, or the request that created the webhook of the delivery. */
  readonly action: RecordedAction;
  /** Virtual time of the failure. */
  readonly at: number;
  readonly delivery?: Delivery;
}

/** A skipped delivery ends when its next attempt would have been due, which is later than its last attempt. */
export const isSkipped = ({ delivery }: RecordingGoal): boolean => delivery?.outcome.startsWith("skipped_") === true;

export const getGoalId = ({ action, delivery }: RecordingGoal): string =>
  delivery ? `delivery:${delivery.id}` : `request:${action.id}`;

/** Finds the last rejected request or undelivered delivery, or that of `about`: `request:12` or `delivery:3`. */
export function findGoal(
  { actions, deliveries }: Awaited<ReturnType<typeof readRecording>>,
  about: string | undefined,
): RecordingGoal {
  const requests = actions.map((action): RecordingGoal => ({ action, at: action.at }));
  const undelivered = deliveries.flatMap((delivery): RecordingGoal[] => {
    const action = actions.find(({ webhook }) => webhook?.id === delivery.webhook_id);
    const last = delivery.attempts.at(-1);
    return action && last ? [{ action, at: Date.parse(last.at), delivery }] : [];
  });
  const goals = [...requests, ...undelivered];
  if (about !== undefined) {
    const goal = goals.find((candidate) => getGoalId(candidate) === about);
    if (goal) return goal;
    throw new UsageError(`--about: ${about} is not in the request log`, {
      hint: "The value is request:12 (see svc emulator requests) or delivery:3 (see svc emulator deliveries).",
    });
  }
  const failures = goals.filter(({ action, delivery }) =>
    delivery ? delivery.outcome !== "delivered" : action.status >= 400,
  );
  const last = failures.sort((a, b) => a.at - b.at).at(-1) ?? requests.at(-1);
  if (last) return last;
  throw new UsageError("The request log of the emulator has no request that a scenario can repeat", {
    hint: "Use the emulator first: svc emulator requests shows the log.",
  });
}
