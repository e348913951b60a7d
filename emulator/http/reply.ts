import { create } from "content-disposition";
import type { Failure } from "../../src/api/failure.ts";
import { type FailureCode, failures } from "../../src/api/failures.ts";
import type { Operation, ResultOf } from "../../src/api/operation.ts";
import { SourceNumber } from "./bodies/python-json.ts";

/** A response that has more than the bare body of the only declared success. `reply` creates it. */
export class HandlerReply<Status extends number = number, Body = unknown> {
  readonly status: Status;
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: Status, body: Body, headers: Readonly<Record<string, string>>) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** Headers of a response that contains tokens (RFC 6749, 5.1). */
export const noStoreHeaders = { "cache-control": "no-store", pragma: "no-cache" } as const;

/** Creates a response with one of several declared statuses, or with additional headers. */
export const reply = <Status extends number, Body>(
  status: Status,
  body: Body,
  headers: Readonly<Record<string, string>> = {},
): HandlerReply<Status, Body> => new HandlerReply(status, body, headers);

export type OperationReply<O extends Operation> = HandlerReply<keyof O["responses"] & number, ResultOf<O>>;

/** The header of a response to a request that changed nothing, so that clients can send it again. */
export const unchangedHeader = ["x-svc-unchanged", "true"] as const;

/**
 * The unchanged response of another server: status, raw headers (alternating names and values) and bytes. Hop-by-hop
 * headers are removed when it is sent. If the body fails, the client's connection is closed.
 */
export class Passthrough {
  readonly status: number;
  readonly rawHeaders: readonly string[];
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
  /** Headers of an emulator, which other servers cannot set. */
  readonly emulatorHeaders: readonly string[];

  constructor(
    status: number,
    rawHeaders: readonly string[],
    body: Uint8Array | AsyncIterable<Uint8Array>,
    emulatorHeaders: readonly string[] = [],
  ) {
    this.status = status;
    this.rawHeaders = rawHeaders;
    this.body = body;
    this.emulatorHeaders = emulatorHeaders;
  }

  /** Returns the first value of a header. `name` is in lower case. */
  findHeader(name: string): string | undefined {
    const index = this.rawHeaders.findIndex((text, i) => i % 2 === 0 && text.toLowerCase() === name);
    return index === -1 ? undefined : this.rawHeaders[index + 1]!;
  }
}

type Headers = Readonly<Record<string, string>>;

/** Creates a response in place of that of another server. */
export const createPassthrough = (status: number, headers: Headers, body: string): Passthrough =>
  new Passthrough(status, Object.entries(headers).flat(), Buffer.from(body));

export const createJsonPassthrough = (status: number, body: unknown, headers: Headers = {}): Passthrough =>
  createPassthrough(status, { "content-type": "application/json", ...headers }, JSON.stringify(body));

/** Finished frames of an event stream with IDs or comments, for code that resumes streams. */
export class EventFrames {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A response in the form in which it is written to the socket. */
export interface HttpResponse {
  readonly status: number;
  /** Alternating names and values, without length, date and virtual time. */
  readonly headers: readonly string[];
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** True if this is the unchanged response of another server. */
  readonly isForeign?: boolean;
  /** Code of the declared failure, for the request log. */
  readonly failure?: FailureCode;
}

/** Changes a response as observed, if necessary. `finding` reports the applied observations. */
export type ResponseObserver = (
  operation: Operation,
  response: HttpResponse,
) => { readonly response: HttpResponse; readonly finding: string } | undefined;

/** The content type has no charset, as in the routing service (DECISIONS.md, P16). */
export const jsonHeaders = ["content-type", "application/json"] as const;

export const createJsonResponse = (
  status: number,
  document: unknown,
  headers: readonly string[] = [],
): HttpResponse => ({
  status,
  headers: headers.length === 0 ? jsonHeaders : [...jsonHeaders, ...headers],
  body: JSON.stringify(document),
});

interface HttpError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** JSON omits a hint that is undefined. Only the control plane has hints. */
  readonly hint?: string | undefined;
  readonly headers?: readonly string[];
}

/** Creates an error that is the same for every operation. The control plane formats it differently. */
export const createErrorResponse = (isControl: boolean, { status, headers, ...error }: HttpError): HttpResponse =>
  createJsonResponse(status, isControl ? { error } : { detail: error.message }, headers);

export const createForbiddenResponse = (isControl: boolean, message: string): HttpResponse =>
  createErrorResponse(isControl, { status: 403, code: "forbidden", message });

export const retryAfterHeader = ["retry-after", "1"] as const;

export function createFailureResponse(code: FailureCode, data: unknown): HttpResponse {
  const failure = failures[code] as Failure<unknown>;
  const failureHeaders = Object.entries(failure.headers?.(data) ?? {});
  const type = failure.shape === "xml" ? "application/xml" : "application/json";
  const headers = failureHeaders.some(([name]) => name === "content-type") ? [] : ["content-type", type];
  const body = failure.body(data);
  return {
    status: failure.status,
    headers: [...headers, ...failureHeaders.flat()],
    body: typeof body === "string" ? body : failure.shape === "validation" ? printPython(body) : JSON.stringify(body),
    failure: code,
  };
}

/** Creates the header of a file to download, for old and new clients (RFC 6266, RFC 8187). */
export const createAttachmentHeader = (filename: string) => ({ "content-disposition": create(filename) });

/** Creates the header of a file to display, with a file name for saving it. */
export const createInlineHeader = (filename: string) => ({
  "content-disposition": create(filename, { type: "inline" }),
});

const loneSurrogatePattern = /\p{Surrogate}/gu;

/**
 * Prints compact JSON as Starlette's JSONResponse does. Numbers with their source text are printed as Python prints
 * them, which JSON.stringify cannot do (ARCHITECTURE.md, Written by hand). NaN, the infinities and lone surrogates, for
 * which the real service returns 500, become null and U+FFFD (DECISIONS.md, R1).
 */
function printPython(value: unknown): string {
  if (value === undefined || value === null) return "null";
  if (typeof value === "string") return JSON.stringify(value.replace(loneSurrogatePattern, "\ufffd"));
  if (value instanceof SourceNumber) return printNumber(value.text);
  if (Array.isArray(value)) return `[${value.map(printPython).join(",")}]`;
  if (value instanceof Map) return printMembers([...value]);
  if (typeof value === "object")
    return printMembers(Object.entries(value).filter(([, member]) => member !== undefined));
  return JSON.stringify(value);
}

const printMembers = (members: readonly (readonly [string, unknown])[]): string =>
  `{${members.map(([key, member]) => `${printPython(key)}:${printPython(member)}`).join(",")}}`;

function printNumber(text: string): string {
  if (/^-?\d+$/.test(text)) return text === "-0" ? "0" : text;
  const value = Number(text);
  return Number.isFinite(value) ? printFloat(value) : "null";
}

/**
 * Formats a number as `repr` of a Python float does. It has an exponent from 1e16 upwards and below 1e-4, and always a
 * fraction or an exponent.
 */
function printFloat(value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  const absoluteValue = Math.abs(value);
  if (absoluteValue !== 0 && (absoluteValue >= 1e16 || absoluteValue < 1e-4)) {
    const [digits, exponent] = value.toExponential().split("e") as [string, string];
    return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  }
  const text = String(value);
  return text.includes(".") ? text : `${text}.0`;
}

/** Response to `GET *` or `ftp://host/`, which is not a valid target for any server (RFC 9112, 3.2). */
export const invalidTargetResponse: HttpResponse = createJsonResponse(400, {
  detail: "The request target must be a path or an http URL.",
});

/** Response to `/a/..%2f..%2fb`, which servers interpret differently. */
export const ambiguousTargetResponse: HttpResponse = createJsonResponse(400, {
  detail: "The path has a dot segment next to an encoded slash or a backslash. Send the resolved path.",
});

export const notReadyResponse: HttpResponse = createJsonResponse(503, { detail: "The emulator is starting." }, [
  ...retryAfterHeader,
  ...unchangedHeader,
]);
