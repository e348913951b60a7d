import type { IncomingMessage } from "node:http";
import { uploadHeaders } from "../../src/api/storage/objects.ts";
import type { BoundOperation } from "./bind.ts";
import { type Dialect, formatOperation } from "./dialects/dialect.ts";
import { dialects } from "./dialects/index.ts";
import type { Exchange } from "./exchange.ts";
import type { ReceivedRequest, ReportFinding } from "./handler.ts";
import { BodyTimeoutError, hasBody, MaxBodyBytesExceededError } from "./read-body.ts";
import { invalidTargetResponse, type Passthrough, requestTimeoutResponse } from "./reply.ts";
import { nearestOperation } from "./request-log/nearest-operation.ts";
import type { HttpResponse } from "./response.ts";
import { toPassthroughResponse } from "./response-producer.ts";
import { methodsOf, type OperationTable } from "./routing/operation-table.ts";
import type { RequestTarget } from "./routing/path.ts";
import { rejectUnauthenticated, serve } from "./serve.ts";

/** Answers a request for which nothing is declared; undefined: it knows no better than 404. */
export type Fallback = (
  request: ReceivedRequest,
  finding: ReportFinding,
) => Promise<Passthrough | undefined> | Passthrough | undefined;

/** A request that no operation takes: its path is wrong, or its method, or a parameter of it is empty. */
export interface UnmatchedRequest {
  readonly raw: IncomingMessage;
  readonly target: RequestTarget;
  /** Where it was looked for. */
  readonly operations: OperationTable;
  /** What its path has, of other methods. */
  readonly atPath: readonly BoundOperation[];
  readonly dialect: Dialect;
  readonly fallback: Fallback | undefined;
}

/** What to say to it: first whatever still helps it, then 405 or 404. */
export async function respondUnmatched(unmatched: UnmatchedRequest, exchange: Exchange): Promise<HttpResponse> {
  const { atPath } = unmatched;
  return (
    preflight(unmatched) ??
    otherSlash(unmatched) ??
    noPath(unmatched) ??
    (atPath.length === 0 ? await fromFallback(unmatched, exchange) : undefined) ??
    (atPath[0] && (await rejectUnauthenticated(atPath[0], exchange))) ??
    (await notSigned(unmatched, exchange)) ??
    otherMethod(unmatched) ??
    nothingThere(unmatched)
  );
}

/** A browser asks before it uploads from a page of another site (DECISIONS.md, P17). */
function preflight({ raw, atPath }: UnmatchedRequest): HttpResponse | undefined {
  if (raw.method !== "OPTIONS" || atPath[0]?.operation.service.name !== "storage") return undefined;
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
function otherSlash({ raw, target: { path, search }, operations }: UnmatchedRequest): HttpResponse | undefined {
  const found = operations.otherSlash(raw.method!, path);
  if (!found) return undefined;
  const location = found.documented.split("/").map(encodeURIComponent).join("/");
  return { status: 302, headers: ["location", search === "" ? location : `${location}?${search}`], body: undefined };
}

/** A target that is no path of anybody's (RFC 9112, 3.2). */
function noPath({ raw, target, operations, dialect }: UnmatchedRequest): HttpResponse | undefined {
  if (target.isPath) return undefined;
  if (raw.method !== "OPTIONS" || target.path !== "*") return invalidTargetResponse;
  // It asks about the server as a whole, of which nothing is declared.
  return dialect.methodNotAllowed(raw.method, operations.methods);
}

async function fromFallback(
  { raw, fallback }: UnmatchedRequest,
  exchange: Exchange,
): Promise<HttpResponse | undefined> {
  if (!fallback) return undefined;
  const { received, arrivals, maxBodyBytes } = exchange;
  try {
    const reads = raw.method !== "GET" && raw.method !== "HEAD" && hasBody(raw);
    if (reads) received.body = await arrivals.collect(raw, maxBodyBytes);
  } catch (error) {
    if (error instanceof MaxBodyBytesExceededError) return dialects.platform.tooLarge();
    if (error instanceof BodyTimeoutError) return requestTimeoutResponse(false);
    throw error;
  }
  const answer = await fallback(received, exchange.finding);
  // What stands in for the cluster is the emulator itself.
  return answer && { ...toPassthroughResponse(answer), isForeign: false };
}

/** A signed URL is for one method, so its storage says of any other that the signature does not match (DECISIONS.md, P17). */
async function notSigned(
  { raw, target, atPath: [first] }: UnmatchedRequest,
  exchange: Exchange,
): Promise<HttpResponse | undefined> {
  if (first?.operation.service.name !== "storage") return undefined;
  return serve({ bound: first, params: {} }, raw, target.search, exchange);
}

/** Starlette names the methods of the first route that has the path; the others name all. */
function otherMethod({ raw, operations, atPath, dialect }: UnmatchedRequest): HttpResponse | undefined {
  const [first] = atPath;
  if (!first) return operations.hasCatchAll ? dialect.methodNotAllowed(raw.method!, operations.methods) : undefined;
  const isFastApi = first.operation.service.dialect === "fastapi";
  return dialect.methodNotAllowed(raw.method!, isFastApi ? methodsOf(first) : methodsOf(...atPath));
}

/** The 404 of a service, with what the caller may have meant in a header. */
function nothingThere({ raw, target, operations, dialect }: UnmatchedRequest): HttpResponse {
  const declared = operations.all.filter(({ steps }) => !steps.isCatchAll).map(({ operation }) => operation);
  const nearest = nearestOperation(raw.method!, target.path, declared);
  const answer = dialect.notFound(nearest);
  if (!nearest) return answer;
  return { ...answer, headers: [...answer.headers, "x-svc-nearest", `${nearest.id} ${formatOperation(nearest)}`] };
}
