import type { watchRequests as watchOperation } from "../../src/api/emulator/requests.ts";
import { findOperationAt, type InputOf, type Operation } from "../../src/api/operation.ts";
import { registry } from "../../src/api/registry.ts";
import { redactText } from "../../src/api/secrets.ts";
import { toIsoMillis } from "../../src/base/clock.ts";
import { markExactNumbers, restoreExactNumbers } from "../../src/base/json.ts";
import { memoize, tryParseJson } from "../../src/base/object.ts";
import { matchesPathPattern } from "../../src/base/urls.ts";
import type { InboxRow } from "../cluster/inbox.ts";
import { workspaces } from "../domain/workspaces.ts";
import { isTooDeep } from "../http/bodies/json.ts";
import { DroppedEventsNotice, EventBacklog, streamItems } from "../http/event-stream.ts";
import { redactBody, redactHeaders, redactTarget } from "../http/request-log/redact.ts";
import type { LoggedRequest, RequestLog } from "../http/request-log/request-log.ts";
import { suggestOperation } from "../http/unmatched-request.ts";
import { matchesFilter } from "../store/rows.ts";
import { streamWhileAllowed } from "./access/credentials.ts";
import type { ControlCaller } from "./console/sessions.ts";
import type { ControlContext, ControlHandlers } from "./context.ts";

type RequestQuery = InputOf<typeof watchOperation>["query"] & { readonly id?: number | undefined };

export const requestHandlers = {
  "requests.list": ({ query }, context) => {
    const { requestLog } = context;
    const isVisible = createVisibilityFilter(context);
    const matches = requestLog
      .list()
      .filter(isVisible)
      .filter(createRequestFilter({ ...query, reads: true }));
    const listedRequests = query.reads ? matches : matches.filter((entry) => !isControlPlaneRead(entry));
    return {
      items: listedRequests
        .slice(-query.limit)
        .map((entry) => ({
          ...toRequestRecord(entry),
          ...(query.bodies && entry.body && { body: redactBody(parseLoggedBody(entry.body)) }),
        })),
      total: listedRequests.length,
      reads_omitted: matches.length - listedRequests.length,
    };
  },

  "requests.watch": ({ query }, context) => {
    const [isVisible, matchesQuery] = [createVisibilityFilter(context), createRequestFilter(query)];
    return streamWhileAllowed(context, (signal) =>
      watchRequests(context.requestLog, (entry) => isVisible(entry) && matchesQuery(entry), signal),
    );
  },

  "requests.clear": (_, { requestLog }) => {
    requestLog.clear();
    return undefined;
  },

  "clusters.inbox": ({ params, query: { path, limit } }, { clusters, inboxes, fail }) => {
    const cluster = clusters.find(({ id }) => id === params.id);
    if (!cluster) return fail("no-such-cluster-here", { cluster: params.id, known: clusters.map(({ id }) => id) });
    const inbox = inboxes.get(cluster.id);
    if (!inbox) return fail("external-cluster", { cluster: cluster.id, url: cluster.url });
    const matches = inbox.list().filter(({ target }) => path === undefined || matchesPathPattern(target, path));
    return { items: matches.slice(-limit).map(toInboxRecord), total: matches.length };
  },
} satisfies ControlHandlers;

function parseLoggedBody(body: Buffer): unknown {
  const text = body.toString("utf8");
  const value = isTooDeep(text) ? undefined : tryParseJson(text);
  return value === undefined ? undefined : markExactNumbers(value, restoreExactNumbers(text, value));
}

/** Returns the filter of a caller: a workspace's token sees its own requests and those with its workspace's key. */
function createVisibilityFilter({
  caller: { token },
  store,
}: Pick<ControlContext, "store"> & { readonly caller: ControlCaller }) {
  const id = token.workspace?.id;
  if (id === undefined) return () => true;
  const key = store.get(workspaces, id)?.client_id;
  // A token of another workspace may have had the same name, and after a reset that workspace the same ID.
  return ({ tokenHash, rawHeaders }: LoggedRequest): boolean =>
    tokenHash === token.hash ||
    rawHeaders.some((name, i) => i % 2 === 0 && name.toLowerCase() === "client-id" && rawHeaders[i + 1] === key);
}

/** Such requests emit no events, because followers read the control plane at each event. */
export const isControlPlaneRead = ({ service, method }: LoggedRequest): boolean =>
  service === "emulator" && method === "GET";

function createRequestFilter(query: RequestQuery): (entry: LoggedRequest) => boolean {
  const { service, operation, status, workspace: workspaceId, since, reads, id } = query;
  const sinceMs = since === undefined ? Number.NEGATIVE_INFINITY : Date.parse(since);
  return (entry) =>
    matchesFilter(entry, { service, operation, status, workspaceId, id }) &&
    entry.at >= sinceMs &&
    (reads || !isControlPlaneRead(entry));
}

/** The log can be smaller than a burst of requests, so entries for the reader are buffered separately. */
async function* watchRequests(log: RequestLog, matches: (entry: LoggedRequest) => boolean, signal: AbortSignal) {
  const backlog = new EventBacklog<LoggedRequest>();
  const watch = (notify: () => void) =>
    log.watch((entry, bytes) => {
      if (!matches(entry)) return;
      backlog.add(entry, bytes);
      notify();
    });
  for await (const entry of streamItems(signal, watch, () => backlog.take())) {
    yield entry instanceof DroppedEventsNotice ? entry : toRequestRecord(entry);
  }
}

/** Returns an entry in the control plane's format, without secrets. */
export function toRequestRecord(entry: LoggedRequest) {
  const { listener, service, operation, method, status, failure, findings } = entry;
  const isUnknown =
    (operation === undefined || operation === "catch-all") && !isOwnPage(entry) && !isOfContractApi(entry);
  return {
    id: entry.id,
    at: toIsoMillis(entry.at),
    wall_at: toIsoMillis(entry.wallAt),
    listener,
    service,
    operation: operation ?? null,
    nearest: isUnknown ? findNearestOperation(entry).text : null,
    method,
    target: redactTarget(entry.target, operation),
    headers: redactHeaders(entry.rawHeaders),
    status,
    failure: failure ?? null,
    caller: entry.caller ?? null,
    ...(entry.workspaceId !== undefined && { workspace_id: entry.workspaceId }),
    findings: findings.map(({ code, detail }) =>
      detail === undefined ? { code } : { code, detail: redactText(detail) },
    ),
    duration_ms: entry.durationMs,
    ...(entry.cause !== undefined && { cause: entry.cause }),
    ...(entry.fault !== undefined && { fault: entry.fault }),
    ...(entry.isReplaced && { replaced: true as const }),
  };
}

/** A cluster also serves pages of contracts, whose operation is not unknown. */
const isOwnPage = ({ listener, status, findings }: LoggedRequest): boolean =>
  listener !== "router" && [200, 303].includes(status) && findings.every(({ code }) => code !== "unknown-path");

/** The router forwards requests of the contract API to a cluster, which has these operations. */
const isOfContractApi = ({ listener, method, target }: LoggedRequest): boolean =>
  listener === "router" && findOperationAt(contractOperations, method, target.split("?", 1)[0]!) !== undefined;

const declaredOperations = (registry as readonly Operation[]).filter(({ id }) => id !== "catch-all");

const contractOperations = declaredOperations.filter(({ service }) => service.name === "contracts");

/** The search takes a millisecond, and a log has thousands of requests, which the console lists often. */
const findNearestOperation = memoize(({ method, target }: LoggedRequest) => {
  const operation = suggestOperation(method, target.split("?", 1)[0]!, declaredOperations);
  return { text: operation ? `${operation.id} ${[operation.method].flat()[0]} ${operation.path}` : null };
});

const toInboxRecord = ({ id, at, method, target, rawHeaders, body, status }: InboxRow) => ({
  id,
  at: toIsoMillis(at),
  method,
  target,
  headers: rawHeaders.flatMap((name, i): [string, string][] => (i % 2 === 0 ? [[name, rawHeaders[i + 1]!]] : [])),
  body: body.toString("base64"),
  status,
});
