import type { CallableOperation, Method } from "../api/operation.ts";
import { stringifyExact } from "../base/json.ts";
import { omitUndefined, toFields } from "../base/object.ts";
import { trimTrailing } from "../base/text.ts";
import { fillTemplate } from "../base/urls.ts";
import type { CallArguments, CheckedCall } from "./checked-call.ts";
import { MissingCredentialsError } from "./errors.ts";
import type { BaseUrls, CallOptions, Credentials } from "./published.d.ts";

export interface HttpRequest {
  readonly method: Method;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A function opens a stream again for each attempt. An open stream can only be sent once. */
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | (() => AsyncIterable<Uint8Array>) | undefined;
}

export interface HttpResponse {
  readonly status: number;
  /** Headers with lower-case names. Repeated headers are joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Reports whether a method can be sent again without repeating its effect (RFC 9110, 9.2.2). */
export const isIdempotent = (method: string): boolean => ["GET", "PUT", "DELETE"].includes(method);

export type RequestOptions = Pick<CallOptions, "url" | "contentType" | "contentLength">;

/**
 * Builds the HTTP request of a call. Without `credentials`, the request has none. Throws MissingCredentialsError if
 * `credentials` lack a part that the operation needs.
 */
export function buildRequest(
  { operation, args }: CheckedCall,
  base: BaseUrls,
  credentials: Credentials | undefined,
  options: RequestOptions = {},
): HttpRequest {
  const method = [operation.method].flat()[0]!;
  const { content, contentType } = encode(operation.request.body, args.body, options.contentType);
  const type: Record<string, string> = contentType === undefined ? {} : { "content-type": contentType };

  if (operation.service.name === "storage") {
    if (options.url === undefined) throw new Error(`${operation.id} requires the signed URL`);
    const length: Record<string, string> =
      options.contentLength === undefined ? {} : { "content-length": String(options.contentLength) };
    return { method, url: options.url, headers: { ...type, ...length }, body: content };
  }
  return {
    method,
    url: getBaseUrl(operation, base) + buildPath(operation, args),
    headers: {
      accept: buildAccept(operation),
      ...type,
      ...omitUndefined(args.headers ?? {}),
      ...(credentials && buildCredentialHeaders(operation, findNamedCluster(args), credentials)),
    },
    body: content,
  };
}

function getBaseUrl(operation: CallableOperation, base: BaseUrls): string {
  const name = operation.service.name as keyof BaseUrls;
  const url = base[name];
  if (url === undefined) throw new Error(`No base URL for the service ${name}`);
  return trimTrailing(url, "/");
}

function buildPath(operation: CallableOperation, args: CallArguments): string {
  const path = fillTemplate(operation.path, (args.params ?? {}) as Record<string, string | number>);
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(args.query ?? {})) {
    for (const item of [value].flat()) if (item !== undefined && item !== null) query.append(name, String(item));
  }
  return query.size > 0 ? `${path}?${query}` : path;
}

function findNamedCluster(args: CallArguments): string | undefined {
  const clusterId = args.params?.cluster_id ?? toFields(args.body).cluster_id;
  return typeof clusterId === "string" ? clusterId : undefined;
}

function buildAccept(operation: CallableOperation): string {
  const kinds = Object.values(operation.responses).map(({ kind }) => kind);
  if (kinds.includes("events")) return "text/event-stream";
  return kinds.includes("json") ? "application/json" : "*/*";
}

function encode(
  declaredBody: CallableOperation["request"]["body"],
  body: unknown,
  contentType: string | undefined,
): { content: HttpRequest["body"]; contentType: string | undefined } {
  if (declaredBody === undefined || body === undefined) return { content: undefined, contentType: undefined };
  switch (declaredBody.kind) {
    case "json":
    case "jsonOrForm":
      return { content: stringifyExact(body), contentType: "application/json" };
    case "form":
      return {
        content: new URLSearchParams(body as Record<string, string>).toString(),
        contentType: "application/x-www-form-urlencoded",
      };
    case "raw":
    case "stream":
      return { content: body as HttpRequest["body"], contentType: contentType ?? "application/octet-stream" };
  }
}

/**
 * Builds the headers that authenticate a call of an operation. A missing cluster key is omitted, because the routing
 * service can accept the request (DECISIONS.md, R6). Any other missing credential throws MissingCredentialsError.
 */
export function buildCredentialHeaders(
  operation: Pick<CallableOperation, "auth" | "service">,
  clusterId: string | undefined,
  credentials: Credentials,
): Record<string, string> {
  if (operation.service.name === "storage") return {};
  switch (operation.auth) {
    case "none":
      return {};
    case "api-key": {
      const { clientId, clientSecret } = credentials;
      const missing = clientId ? "client secret" : clientSecret ? "client id" : undefined;
      if (!clientId || !clientSecret) throw new MissingCredentialsError("api-key", missing);
      return { "client-id": clientId, "client-secret": clientSecret };
    }
    case "cluster-key":
    case "cluster-key-or-bearer": {
      const { clusterKeys = {}, clusterKey } = credentials;
      const namedKey = clusterId && Object.hasOwn(clusterKeys, clusterId) ? clusterKeys[clusterId] : undefined;
      const key = namedKey || clusterKey;
      // The specification declares its optional header `authorization` without a purpose.
      const { bearer } = operation.auth === "cluster-key-or-bearer" ? credentials : { bearer: undefined };
      return { ...(key ? { "x-cluster-key": key } : {}), ...(bearer ? { authorization: `Bearer ${bearer}` } : {}) };
    }
    case "basic": {
      if (!credentials.basic) throw new MissingCredentialsError("basic");
      const { username, password } = credentials.basic;
      return { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}` };
    }
    case "bearer":
      if (!credentials.bearer) throw new MissingCredentialsError("bearer");
      return { authorization: `Bearer ${credentials.bearer}` };
    case "control-token":
      if (!credentials.controlToken) throw new MissingCredentialsError("control-token");
      return { authorization: `Bearer ${credentials.controlToken}` };
  }
}
