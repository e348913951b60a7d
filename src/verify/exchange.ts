import { isUtf8 } from "node:buffer";
import * as z from "zod";
import { describeIssue } from "../base/issues.ts";
import { tryParseJson } from "../base/object.ts";

/** HTTP message: its headers in their original order and spelling, and its body. */
export interface HttpMessage {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

export interface RecordedRequest extends HttpMessage {
  readonly method: string;
  readonly target: string;
}

export interface RecordedResponse extends HttpMessage {
  readonly status: number;
}

/** Servers that receive requests: services, the storage behind signed URLs, and receivers of webhooks. */
const recordedServers = ["router", "contracts", "storage", "receiver"] as const;
export type RecordedServer = (typeof recordedServers)[number];

/** Request with its response, as a corpus stores it. */
export interface RecordedExchange {
  readonly callee: RecordedServer;
  /** ID of the operation, or the activity of a webhook. Undefined if the path is not declared. */
  readonly operation: string | undefined;
  /** Service time of the request in milliseconds. */
  readonly at: number;
  readonly request: RecordedRequest;
  readonly response: RecordedResponse;
}

const headerPattern = /^[\w!#$%&'*+.^`|~-]{1,200}: [\t\x20-\x7e\x80-\xff]*$/;

/** Virtual time ends with the year 9999, and a replay continues after the last exchange. */
const maxExchangeTimeMs = Date.UTC(9000, 0);

const isExchangeTime = (text: string): boolean => Date.parse(text) >= 0 && Date.parse(text) < maxExchangeTimeMs;

/** Body of a message: compact JSON as a value, other text as a string, and binary content in base64. */
const bodyFields = { json: z.unknown().optional(), text: z.string().optional(), base64: z.base64().optional() };

const messageFields = {
  // A control character or a line break must not get into a header that is sent again.
  headers: z.array(z.string().regex(headerPattern, "must be a header (name: value)")),
  ...bodyFields,
};

/** Exchange as a file contains it. */
const StoredExchange = z.strictObject({
  "svc-exchange": z.literal(1, { error: "must be 1, the version that this svc reads" }),
  callee: z.enum(recordedServers, { error: `must be one of ${recordedServers.join(", ")}` }),
  operation: z.string().optional(),
  at: z.string().refine(isExchangeTime, "must be a time (2030-01-02T03:04:05Z)"),
  request: z.strictObject({
    method: z.string().regex(/^(?!CONNECT$)[A-Z]{1,16}$/, "must be an HTTP method other than CONNECT"),
    target: z.string().regex(/^\/\S*$/, "must be a path"),
    ...messageFields,
  }),
  response: z.strictObject({ status: z.int().min(100).max(599), ...messageFields }),
});

type StoredBody = z.infer<z.ZodObject<typeof bodyFields>>;

/** Returns the value of a header by its lower-case name. */
export const getHeader = ({ headers }: Pick<HttpMessage, "headers">, name: string): string | undefined =>
  headers.find(([item]) => item.toLowerCase() === name)?.[1];

/** Parses the JSON body of a message. Returns undefined if the body is not JSON. */
export const parseJsonBody = ({ body }: Pick<HttpMessage, "body">): unknown => tryParseJson(body.toString("utf8"));

/** Converts a flat list of Node.js to pairs of name and value. */
export const pairHeaders = (raw: readonly string[]): [name: string, value: string][] =>
  raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1]!] as [string, string]] : []));

/** Formats an exchange as indented JSON. */
export function formatExchange({ callee, operation, at, request, response }: RecordedExchange): string {
  const stored: z.infer<typeof StoredExchange> = {
    "svc-exchange": 1,
    callee,
    operation,
    at: new Date(at).toISOString(),
    request: { method: request.method, target: request.target, ...formatMessage(request) },
    response: { status: response.status, ...formatMessage(response) },
  };
  return `${JSON.stringify(stored, null, 2)}\n`;
}

const formatMessage = ({ headers, body }: HttpMessage) => ({
  headers: headers.map(([name, value]) => `${name}: ${value.replace(/[^\t\x20-\x7e\x80-\xff]/g, " ")}`),
  ...formatBody(body),
});

/** Maximum length of a body that is indented. The indentation of a deep document can be much longer than the body. */
const maxIndentedLength = 1_000_000;

function formatBody(body: Buffer): StoredBody {
  if (body.length === 0) return {};
  const text = body.toString("utf8");
  if (!isUtf8(body) || /[^\P{Cc}\n\r\t]/u.test(text)) return { base64: body.toString("base64") };
  if (text.length > maxIndentedLength) return { text };
  try {
    const json: unknown = JSON.parse(text);
    // Only compact JSON has the same bytes again, and only if no number or order of keys changes.
    const isExact = JSON.stringify(json) === text && JSON.stringify(json, null, 2).length <= maxIndentedLength;
    return isExact ? { json } : { text };
  } catch {
    return { text };
  }
}

/** A file of a corpus is not an exchange. The message states the problem without the name of the file. */
export class ExchangeFormatError extends Error {
  override readonly name = "ExchangeFormatError";
}

export function parseExchange(text: string): RecordedExchange {
  const { data, error } = StoredExchange.safeParse(tryParseJson(text) ?? null);
  if (!data) {
    const [issue] = error.issues;
    throw new ExchangeFormatError(`${issue!.path.join(".") || "it"} ${describeIssue(issue!)}`);
  }
  const { callee, operation, at, request, response } = data;
  return {
    callee,
    operation,
    at: Date.parse(at),
    request: { method: request.method, target: request.target, ...parseMessage(request) },
    response: { status: response.status, ...parseMessage(response) },
  };
}

const parseMessage = ({ headers, ...body }: StoredBody & { readonly headers: readonly string[] }): HttpMessage => ({
  headers: headers.map((line): [string, string] => {
    const colon = line.indexOf(": ");
    return [line.slice(0, colon), line.slice(colon + 2)];
  }),
  body: parseBody(body),
});

function parseBody({ text, base64, ...stored }: StoredBody): Buffer {
  if (base64 !== undefined) return Buffer.from(base64, "base64");
  return Buffer.from("json" in stored ? JSON.stringify(stored.json) : (text ?? ""));
}
