import type { Operation } from "../../src/api/operation.ts";
import { memoize } from "../../src/base/object.ts";
import { computeEditDistance } from "../../src/base/text.ts";
import { hasBody } from "./bodies/request-body-reader.ts";
import { formatOperation } from "./dialects/dialects.ts";
import type { HttpExchange } from "./exchange.ts";
import { type HttpResponse, invalidTargetResponse } from "./reply.ts";
import { toPassthroughResponse } from "./response-producer.ts";
import { isCatchAll, listMethods } from "./routing/operation-table.ts";
import { rejectUnauthenticated, serveRequest } from "./serve.ts";

/** Responds to a request that matches no operation. A specific hint has priority over 405 and 404. */
export async function respondUnmatched(exchange: HttpExchange): Promise<HttpResponse> {
  const { method, atPath, operations, dialect } = exchange;
  const [firstOperation] = atPath;
  const hintResponse =
    respondToPreflight(exchange) ?? respondToOtherSlash(exchange) ?? respondToNonPathTarget(exchange);
  if (hintResponse) return hintResponse;
  if (!firstOperation) {
    const response = await respondFromFallback(exchange);
    if (response) return response;
    return operations.catchAll
      ? dialect.toMethodNotAllowedResponse(method, operations.methods)
      : createNotFoundResponse(exchange);
  }
  await rejectUnauthenticated(firstOperation, exchange);
  const { name, dialect: framework } = firstOperation.operation.service;
  // A signed URL is valid for one method. For other methods, the storage responds that the signature does not match
  // (DECISIONS.md, P17).
  if (name === "storage") return serveRequest(exchange, operations.matchPath(exchange.parsedTarget.path)!);
  // Starlette lists the methods of the first route with that path. The other frameworks list all methods.
  const routes = framework === "fastapi" ? [firstOperation] : atPath;
  return dialect.toMethodNotAllowedResponse(method, listMethods(...routes));
}

/** Browsers send a preflight before they upload from a page of another site (DECISIONS.md, P17). */
function respondToPreflight({ method, atPath }: HttpExchange): HttpResponse | undefined {
  if (method !== "OPTIONS" || atPath[0]?.operation.service.name !== "storage") return undefined;
  return {
    status: 204,
    headers: [
      ...["access-control-allow-origin", "*"],
      ...["access-control-allow-methods", listMethods(...atPath).join(", ")],
      ...["access-control-allow-headers", "*"],
      ...["access-control-max-age", "600"],
    ],
    body: undefined,
  };
}

/**
 * A declared path is not redirected, unless only a value makes it end with a slash. If nothing is declared at the path
 * as sent, the method does not matter. The location is relative, so that it works with any name of this host
 * (DECISIONS.md, C3).
 */
function respondToOtherSlash({ method, parsedTarget, operations, atPath }: HttpExchange): HttpResponse | undefined {
  const { path, search } = parsedTarget;
  if (atPath.some(({ operation }) => operation.lastTakesSlashes !== true)) return undefined;
  const match = operations.matchOtherSlash(atPath.length === 0 ? undefined : method, path);
  if (!match) return undefined;
  const location = match.documentedPath.split("/").map(encodeURIComponent).join("/");
  return { status: 302, headers: ["location", search === "" ? location : `${location}?${search}`], body: undefined };
}

/** Responds to a target that is not a path (RFC 9112, 3.2). */
function respondToNonPathTarget({ method, parsedTarget, operations, dialect }: HttpExchange): HttpResponse | undefined {
  if (parsedTarget.isPath) return undefined;
  if (method !== "OPTIONS" || parsedTarget.path !== "*") return invalidTargetResponse;
  // The target refers to the server as a whole, for which nothing is declared.
  return dialect.toMethodNotAllowedResponse(method, operations.methods);
}

async function respondFromFallback(exchange: HttpExchange): Promise<HttpResponse | undefined> {
  const { raw, method, served, isControlled, bodies } = exchange;
  if (!served.fallback || isControlled) return undefined;
  const mustReadBody = method !== "GET" && method !== "HEAD" && hasBody(raw);
  if (mustReadBody) exchange.body = await bodies.collect(raw);
  exchange.enterState();
  const response = await served.fallback(exchange, exchange.reportFinding);
  // The emulator itself emulates the cluster, so the response is not foreign.
  return response && { ...toPassthroughResponse(response), isForeign: false };
}

/** Creates the 404 of a service with a suggestion in a header. */
function createNotFoundResponse({ method, parsedTarget, operations, dialect }: HttpExchange): HttpResponse {
  const declaredOperations = operations.all
    .map(({ operation }) => operation)
    .filter((operation) => !isCatchAll(operation));
  const nearest = suggestOperation(method, parsedTarget.path, declaredOperations);
  const response = dialect.toNotFoundResponse(nearest);
  if (!nearest) return response;
  return { ...response, headers: [...response.headers, "x-svc-nearest", `${nearest.id} ${formatOperation(nearest)}`] };
}

const maxSuggestionDistance = 0.5;
/** A longer segment has more than twice the length of the longest declared segment. */
const maxSegmentLength = 100;

/** Suggests an operation with a similar path, if any. Segments are compared, and a name in braces matches any. */
export function suggestOperation(
  method: string,
  path: string,
  operations: readonly Operation[],
): Operation | undefined {
  const input = splitSegments(path).map((segment) => segment.slice(0, maxSegmentLength));
  let closest: Operation | undefined;
  let minDistance = maxSuggestionDistance;
  for (const operation of operations) {
    const declaredSegments = getDeclaredSegments(operation);
    const maxLength = Math.max(input.length, declaredSegments.length, 1);
    // Each extra segment costs one, so paths of very different lengths need no comparison.
    if (Math.abs(input.length - declaredSegments.length) / maxLength >= minDistance) continue;
    const methodPenalty = [operation.method].flat().includes(method as never) ? 0 : 0.05;
    const distance = computeEditDistance(input, declaredSegments, measureSegments) / maxLength + methodPenalty;
    if (distance < minDistance) {
      minDistance = distance;
      closest = operation;
    }
  }
  return closest;
}

const splitSegments = (path: string): string[] => path.split("/").filter((segment) => segment !== "");

const getDeclaredSegments = memoize(({ path }: Operation): readonly string[] => splitSegments(path));

/** Distances to declared segments. Paths share most of their segments, also those of many requests in the log. */
const segmentDistances = new Map<string, Map<string, number>>();
const maxMeasuredSegments = 200;

function measureSegments(a: string, b: string): number {
  if (b[0] === "{") return 0.2;
  if (a === b) return 0;
  let distances = segmentDistances.get(a);
  if (distances === undefined) {
    if (segmentDistances.size === maxMeasuredSegments) segmentDistances.clear();
    distances = new Map();
    segmentDistances.set(a, distances);
  }
  const distance = distances.get(b) ?? computeEditDistance(a, b) / Math.max(a.length, b.length);
  distances.set(b, distance);
  return distance;
}
