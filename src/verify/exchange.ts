import { isUtf8 } from "node:buffer";
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

const exchangeVersion = 1;

/** Returns the value of a header by its lower-case name. */
export const getHeader = ({ headers }: Pick<HttpMessage, "headers">, name: string): string | undefined =>
  headers.find(([item]) => item.toLowerCase() === name)?.[1];

/** Parses the JSON body of a message. Returns undefined if the body is not JSON. */
export const parseJsonBody = ({ body }: Pick<HttpMessage, "body">): unknown => tryParseJson(body.toString("utf8"));

/** Converts a flat list of Node.js to pairs of name and value. */
export const pairHeaders = (raw: readonly string[]): [name: string, value: string][] =>
  raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1]!] as [string, string]] : []));

/** Formats an exchange: a header of metadata, the request, and the response. */
export function formatExchange(exchange: RecordedExchange): string {
  const { callee, operation, at, request, response } = exchange;
  const requestBody = formatBody(request.body);
  const responseBody = formatBody(response.body);
  return [
    `svc-exchange: ${exchangeVersion}`,
    `callee: ${callee}`,
    ...(operation === undefined ? [] : [`operation: ${operation}`]),
    `at: ${new Date(at).toISOString()}`,
    `request-body: ${requestBody.encoding} ${Buffer.byteLength(requestBody.text)}`,
    `response-body: ${responseBody.encoding} ${Buffer.byteLength(responseBody.text)}`,
    "",
    `${request.method} ${request.target} HTTP/1.1`,
    ...formatHeaders(request),
    "",
    requestBody.text,
    "",
    `HTTP/1.1 ${response.status}`,
    ...formatHeaders(response),
    "",
    responseBody.text,
    "",
  ].join("\n");
}

const formatHeaders = ({ headers }: HttpMessage): string[] =>
  headers.map(([name, value]) => `${name}: ${value.replace(/[^\t\x20-\x7e\x80-\xff]/g, " ")}`);

/** Text stays readable. Binary content becomes base64. */
function formatBody(body: Buffer): { readonly encoding: "text" | "base64"; readonly text: string } {
  const text = body.toString("utf8");
  const isText = isUtf8(body) && ![...text].some((item) => item < " " && !"\n\r\t".includes(item));
  if (isText) return { encoding: "text", text };
  return { encoding: "base64", text: body.toString("base64") };
}

/** A file of a corpus is not an exchange. The message states the problem without the name of the file. */
export class ExchangeFormatError extends Error {
  override readonly name = "ExchangeFormatError";
}

/** Virtual time ends with the year 9999, and a replay continues after the last exchange. */
const maxExchangeTimeMs = Date.UTC(9000, 0);

export function parseExchange(text: string): RecordedExchange {
  const reader = createReader(Buffer.from(text));
  const metadata = new Map(reader.readHeaders());
  const version = metadata.get("svc-exchange");
  if (version === undefined) throw new ExchangeFormatError("it does not begin with svc-exchange");
  if (version !== String(exchangeVersion))
    throw new ExchangeFormatError(`its format is version ${version.slice(0, 20)}, and this svc reads version 1`);
  const callee = recordedServers.find((item) => item === metadata.get("callee"));
  if (callee === undefined) throw new ExchangeFormatError("its callee is missing or unknown");
  const at = Date.parse(metadata.get("at") ?? "");
  if (!(at >= 0 && at < maxExchangeTimeMs)) throw new ExchangeFormatError("its time is missing or malformed");
  const sent = parseBodyLength(metadata.get("request-body"));
  const received = parseBodyLength(metadata.get("response-body"));

  const [, method, target] = /^(?!CONNECT )([A-Z]{1,16}) (\/\S*) HTTP\/1\.1$/.exec(reader.readLine()) ?? [];
  if (method === undefined || target === undefined) throw new ExchangeFormatError("its request line is malformed");
  const request = { method, target, headers: reader.readHeaders(), body: reader.readBody(sent) };
  const [, status] = /^HTTP\/1\.1 ([1-5]\d\d)$/.exec(reader.readLine()) ?? [];
  if (status === undefined) throw new ExchangeFormatError("its status line is malformed");
  const response = { status: Number(status), headers: reader.readHeaders(), body: reader.readBody(received) };
  if (!reader.isAtEnd()) throw new ExchangeFormatError("it is longer than its declared lengths");
  return { callee, operation: metadata.get("operation"), at, request, response };
}

/** Corrects the body lengths of a manually edited exchange. Throws ExchangeFormatError if it is invalid. */
export function correctBodyLengths(text: string): string {
  try {
    parseExchange(text);
    return text;
  } catch {
    const measured = measureBodies(text);
    parseExchange(measured);
    return measured;
  }
}

function measureBodies(text: string): string {
  const metadataEnd = text.indexOf("\n\n");
  const requestEnd = text.indexOf("\n\n", metadataEnd + 2);
  if (metadataEnd < 0 || requestEnd < 0) throw new ExchangeFormatError("it ends too early");
  const rest = text.slice(requestEnd + 2);
  const [statusLine, other] = [...rest.matchAll(/\n\nHTTP\/1\.1 [1-5]\d\d\n/g)];
  if (!statusLine) throw new ExchangeFormatError("it has no status line after an empty line");
  if (other) throw new ExchangeFormatError("the body of its request contains a status line, so its end is ambiguous");
  const responseEnd = rest.indexOf("\n\n", statusLine.index + statusLine[0].length - 1);
  if (responseEnd < 0) throw new ExchangeFormatError("it ends too early");
  const received = rest.slice(responseEnd + 2).replace(/\n$/, "");
  const measured = text
    .slice(0, metadataEnd)
    .replace(/^(request-body: \w+) .*$/m, `$1 ${Buffer.byteLength(rest.slice(0, statusLine.index))}`)
    .replace(/^(response-body: \w+) .*$/m, `$1 ${Buffer.byteLength(received)}`);
  return `${measured}${text.slice(metadataEnd, requestEnd + 2)}${rest.slice(0, responseEnd + 2)}${received}\n`;
}

/** Reads the parts of an exchange in their order. */
function createReader(bytes: Buffer) {
  let at = 0;

  function readLine(): string {
    const end = bytes.indexOf("\n", at);
    if (end < 0) throw new ExchangeFormatError("it ends too early");
    const line = bytes.toString("utf8", at, end);
    at = end + 1;
    return line;
  }

  return {
    readLine,
    isAtEnd: () => at === bytes.length,

    readHeaders(): (readonly [string, string])[] {
      const headers: (readonly [string, string])[] = [];
      for (let line = readLine(); line !== ""; line = readLine()) {
        const colon = line.indexOf(": ");
        const name = line.slice(0, Math.max(colon, 0));
        // A control character or a line break must not get into a header that is sent again.
        if (!/^[\w!#$%&'*+.^`|~-]{1,200}$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(line))
          throw new ExchangeFormatError(`the line "${line.slice(0, 40)}" is not a header`);
        headers.push([name, line.slice(colon + 2)]);
      }
      return headers;
    },

    readBody({ encoding, length }: ReturnType<typeof parseBodyLength>): Buffer {
      const end = at + length;
      if (end >= bytes.length) throw new ExchangeFormatError("it ends too early");
      const raw = bytes.subarray(at, end);
      if (bytes[end] !== newline) throw new ExchangeFormatError("the length of a body is wrong");
      at = end + (bytes[end + 1] === newline ? 2 : 1);
      return encoding === "text" ? Buffer.from(raw) : Buffer.from(raw.toString(), "base64");
    },
  };
}

const newline = 0x0a;

function parseBodyLength(text = "") {
  const [, encoding, length] = /^(text|base64) (\d{1,9})$/.exec(text) ?? [];
  if (encoding === undefined) throw new ExchangeFormatError("the length of a body is missing or malformed");
  return { encoding, length: Number(length) };
}
