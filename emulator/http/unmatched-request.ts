import type { Operation } from "../../src/api/operation.ts";
import { uploadHeaders } from "../../src/api/storage.ts";
import { memoize } from "../../src/base/object.ts";
import { hasBody } from "./bodies/request-body-reader.ts";
import { formatOperation } from "./dialects/dialect.ts";
import type { Exchange } from "./exchange.ts";
import { type HttpResponse, invalidTargetResponse } from "./reply.ts";
import { toPassthroughResponse } from "./response-producer.ts";
import { methodsOf } from "./routing/operation-table.ts";
import { rejectUnauthenticated, serve } from "./serve.ts";

/**
 * The response to a request that matches no operation: its path is wrong, or its method, or a parameter of it is empty.
 * First a hint that still helps, then 405 or 404.
 */
export async function respondUnmatched(exchange: Exchange): Promise<HttpResponse> {
  const [first] = exchange.atPath;
  const hint = preflight(exchange) ?? respondOtherSlash(exchange) ?? respondUnknownPath(exchange);
  if (hint) return hint;
  if (!first) return (await fromFallback(exchange)) ?? respondOtherMethod(exchange) ?? nothingThere(exchange);
  await rejectUnauthenticated(first, exchange);
  // A signed URL is for one method: its storage says of any other that the signature does not match (DECISIONS.md, P17).
  if (first.operation.service.name === "storage") return serve(exchange, { bound: first, params: {} });
  return respondOtherMethod(exchange) ?? nothingThere(exchange);
}

/** A browser asks before it uploads from a page of another site (DECISIONS.md, P17). */
function preflight({ method, atPath }: Exchange): HttpResponse | undefined {
  if (method !== "OPTIONS" || atPath[0]?.operation.service.name !== "storage") return undefined;
  return {
    status: 204,
    headers: [
      ...["access-control-allow-origin", "*"],
      ...["access-control-allow-methods", methodsOf(...atPath).join(", ")],
      ...["access-control-allow-headers", uploadHeaders.join(", ")],
      ...["access-control-max-age", "600"],
    ],
    body: undefined,
  };
}

/** DECISIONS.md, C3. The location is relative, so that it holds behind any name of this host. */
function respondOtherSlash({ method, parsedTarget, operations }: Exchange): HttpResponse | undefined {
  const { path, search } = parsedTarget;
  const found = operations.otherSlash(method, path);
  if (!found) return undefined;
  const location = found.documented.split("/").map(encodeURIComponent).join("/");
  return { status: 302, headers: ["location", search === "" ? location : `${location}?${search}`], body: undefined };
}

/** A target that is no path of anyone's (RFC 9112, 3.2). */
function respondUnknownPath({ method, parsedTarget, operations, dialect }: Exchange): HttpResponse | undefined {
  if (parsedTarget.isPath) return undefined;
  if (method !== "OPTIONS" || parsedTarget.path !== "*") return invalidTargetResponse;
  // It asks about the server as a whole, of which nothing is declared.
  return dialect.methodNotAllowed(method, operations.methods);
}

async function fromFallback(exchange: Exchange): Promise<HttpResponse | undefined> {
  const { raw, method, served, isControlled, bodies } = exchange;
  if (!served.fallback || isControlled) return undefined;
  const reads = method !== "GET" && method !== "HEAD" && hasBody(raw);
  if (reads) exchange.body = await bodies.collect(raw);
  const answer = await served.fallback(exchange, exchange.finding);
  // The emulator itself imitates the cluster.
  return answer && { ...toPassthroughResponse(answer), isForeign: false };
}

/** Starlette names the methods of the first route that has the path; the others name all. */
function respondOtherMethod({ method, operations, atPath, dialect }: Exchange): HttpResponse | undefined {
  const [first] = atPath;
  if (!first) return operations.hasCatchAll ? dialect.methodNotAllowed(method, operations.methods) : undefined;
  const isFastApi = first.operation.service.dialect === "fastapi";
  return dialect.methodNotAllowed(method, isFastApi ? methodsOf(first) : methodsOf(...atPath));
}

/** The 404 of a service, with what the caller may have meant in a header. */
function nothingThere({ method, parsedTarget, operations, dialect }: Exchange): HttpResponse {
  const declared = operations.all.filter(({ steps }) => !steps.isCatchAll).map(({ operation }) => operation);
  const nearest = nearestOperation(method, parsedTarget.path, declared);
  const answer = dialect.notFound(nearest);
  if (!nearest) return answer;
  return { ...answer, headers: [...answer.headers, "x-svc-nearest", `${nearest.id} ${formatOperation(nearest)}`] };
}

const maxDistance = 0.5;
/** More than twice the longest that is declared is like none of them. */
const maxSegmentLength = 100;

/**
 * The operation that a request for an unknown path probably meant; undefined if none is similar. Paths are compared
 * segment by segment, and a name in braces may stand for any segment.
 */
export function nearestOperation(
  method: string,
  path: string,
  operations: readonly Operation[],
): Operation | undefined {
  const given = segmentsOf(path);
  const apart = rememberSuggestion(segmentDistance);
  let best: Operation | undefined;
  let least = maxDistance;
  for (const operation of operations) {
    const declared = declaredSegmentsOf(operation);
    const longest = Math.max(given.length, declared.length, 1);
    // Each segment too many counts as one, so that it need not be compared with the others.
    if (Math.abs(given.length - declared.length) / longest >= least) continue;
    const other = [operation.method].flat().includes(method as never) ? 0 : 0.05;
    const distance = pathDistance(given, declared, apart) / longest + other;
    if (distance < least) {
      least = distance;
      best = operation;
    }
  }
  return best;
}

const segmentsOf = (path: string): string[] => path.split("/").filter((segment) => segment !== "");

const declaredSegmentsOf = memoize(({ path }: Operation): readonly string[] => segmentsOf(path));

type Distance = (a: string, b: string) => number;

const pathDistance = (given: readonly string[], declared: readonly string[], apart: Distance): number =>
  editDistance(given, declared, (a, b) => (b[0] === "{" ? 0.2 : apart(a, b)));

/** Paths have most of their segments in common. */
function rememberSuggestion(distance: Distance): Distance {
  const known = new Map<string, number>();
  return (a, b) => {
    // No segment has a slash in it.
    const pair = `${a}/${b}`;
    const before = known.get(pair);
    if (before !== undefined) return before;
    const found = distance(a, b);
    known.set(pair, found);
    return found;
  };
}

const segmentDistance = (a: string, b: string): number =>
  a === b
    ? 0
    : a.length > maxSegmentLength
      ? 1
      : editDistance([...a], [...b], (x, y) => (x === y ? 0 : 1)) / Math.max(a.length, b.length);

/** Levenshtein distance, with a cost of 1 for an extra character on one side. */
function editDistance(from: readonly string[], to: readonly string[], swap: Distance): number {
  let row = to.map((_, i) => i + 1);
  row.unshift(0);
  for (const [i, a] of from.entries()) {
    const next = [i + 1];
    for (const [j, b] of to.entries()) {
      next.push(Math.min(row[j]! + swap(a, b), row[j + 1]! + 1, next[j]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
