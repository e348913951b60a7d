import type { FaultRule } from "../../src/api/emulator/faults.ts";
import type { Operation } from "../../src/api/operation.ts";
import { matchesPathPattern } from "../../src/base/path-pattern.ts";
import type { ReceivedRequest } from "../http/handler.ts";
import type { FindRequestFault, RequestFault } from "../http/parts.ts";
import { isControlPath, parseRequestTarget } from "../http/routing/path.ts";
import type { Faults, ScriptedFault } from "./faults.ts";

type MatchedRequest = Pick<ReceivedRequest, "method" | "target" | "headers">;

/** The faults for requests that come in. `isForwarded`: sent by the router of this emulator. */
export function incomingFaults(faults: Faults, isForwarded: (request: MatchedRequest) => boolean): FindRequestFault {
  return (request, operation) => {
    if (faults.list().length === 0 || isControl(request, operation)) return undefined;
    const forwarded = isForwarded(request);
    const met = faults.recordMatch(
      (rule) => rule.direction === "incoming" && matches(rule, request, operation, forwarded),
    );
    return met && faultOf(met);
  };
}

/** Who scripts the trouble must be able to end it. */
const isControl = ({ target }: MatchedRequest, operation: Operation | undefined): boolean =>
  operation ? operation.service.name === "emulator" : isControlPath(parseRequestTarget(target).path);

function matches(
  rule: FaultRule,
  request: MatchedRequest,
  operation: Operation | undefined,
  forwarded: boolean,
): boolean {
  // One request of a caller is one, though the router sends it on to a listener of the same emulator.
  if (forwarded && rule.service === undefined && rule.operation === undefined) return false;
  return (
    (rule.service === undefined || rule.service === operation?.service.name) &&
    (rule.operation === undefined || rule.operation === operation?.id) &&
    (rule.method === undefined || rule.method === request.method) &&
    (rule.path === undefined || matchesPathPattern(request.target, rule.path)) &&
    (rule.header === undefined || hasHeader(request, rule.header))
  );
}

/** `name`: whatever its value; `name: value`: with just that one. */
function hasHeader({ headers }: MatchedRequest, wanted: string): boolean {
  const colon = wanted.indexOf(":");
  const name = (colon < 0 ? wanted : wanted.slice(0, colon)).trim().toLowerCase();
  const value = Object.hasOwn(headers, name) ? headers[name] : undefined;
  return colon < 0 ? value !== undefined : value === wanted.slice(colon + 1).trim();
}

function faultOf({ rule, cause }: ScriptedFault): RequestFault {
  const { latency_ms, reset, status, answer_headers, answer_body, truncated } = rule;
  const effect = effectOf(rule);
  return {
    told: cause ? `${effect} (${cause.id})` : effect,
    ...(latency_ms !== undefined && { latencyMs: latency_ms }),
    ...(reset && { reset }),
    ...(status !== undefined && { status }),
    ...(answer_headers && { headers: answer_headers }),
    ...(answer_body !== undefined && { body: answer_body }),
    ...(truncated && { truncated }),
  };
}

/** `wait 50 ms, status 503`, in the order in which it happens. */
const effectOf = ({ latency_ms, reset, status, truncated }: FaultRule): string =>
  [
    latency_ms !== undefined && `wait ${latency_ms} ms`,
    reset && "reset",
    status !== undefined && `status ${status}`,
    truncated && "truncated",
  ]
    .filter((word) => word)
    .join(", ");
