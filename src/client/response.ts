import { isUtf8 } from "node:buffer";
import { Readable } from "node:stream";
import type * as z from "zod";
import type { CallableOperation } from "../api/operation.ts";
import { redactUrl } from "../api/secrets.ts";
import { restoreExactNumbers } from "../base/json.ts";
import { trimTrailing } from "../base/text.ts";
import { parseJson, parseProblem } from "./body.ts";
import { findIssues, getFirstShapeProblem } from "./checked-call.ts";
import { InvalidResponseError, isOutcomeUnknown, MisroutedRequestError, ServiceError } from "./errors.ts";
import { parseServerSentEvents } from "./event-stream.ts";
import type { ReadMode } from "./limits.ts";
import type { CallOptions, ApiResponse as PublishedResponse } from "./published.d.ts";
import { type HttpRequest, type HttpResponse, isIdempotent } from "./request.ts";

/** Success, checked against its declaration. */
export interface ApiResponse<Value = unknown> extends PublishedResponse<Value> {
  /**
   * Reason why the value cannot be read as declared (src/client/checked-call.ts). Undefined for a readable or unchecked
   * value.
   */
  readonly shapeProblem: string | undefined;
}

/**
 * Returns the value of a response, for code that reads its fields. Throws InvalidResponseError if fields are missing.
 */
export function requireValidValue<Value>({ status, value, shapeProblem }: ApiResponse<Value>): Value {
  if (shapeProblem === undefined) return value;
  throw new InvalidResponseError(status, `The service responded ${status} with an undeclared body: ${shapeProblem}.`);
}

/** Decides how to read a response with that status. Bytes and events are streamed. */
export function getReadMode(operation: CallableOperation, status: number): ReadMode {
  const kind = getBodyKind(operation, status);
  // The export is the only document of the emulator that grows with its data.
  if (operation.id === "state.export" && kind === "json") return "export";
  return kind === "bytes" ? "stream" : kind === "events" ? "events" : "whole";
}

interface ResponseReadOptions extends Pick<CallOptions, "onMissed" | "repeatable"> {
  readonly exactNumbers?: boolean | undefined;
}

/** Returns whether a router forwarded the request because no operation matches it (DECISIONS.md, R2). */
export const isFromCatchAll = (headers: HttpResponse["headers"]): boolean => headers["x-svc-matched"] === "catch-all";

/**
 * Checks a response and returns its value. Throws ServiceError, InvalidResponseError or MisroutedRequestError. The
 * specification names few success statuses, so every 2xx is a success, and differences from the declaration are drift.
 */
export async function readResponse(
  operation: CallableOperation,
  request: HttpRequest,
  response: HttpResponse,
  { repeatable = isIdempotent(request.method), ...readOptions }: ResponseReadOptions = {},
): Promise<ApiResponse> {
  const { status, headers } = response;
  const isCatchAll = Array.isArray(operation.method);
  // The catch-all never serves other operations of the router, whose paths are below its own path.
  const isOfRouter = operation.service.name === "router" || operation.service.name === "emulator";
  if (isFromCatchAll(headers) && isOfRouter && !isCatchAll) {
    await readBytes(response.body);
    throw new MisroutedRequestError(
      `${request.method} ${new URL(request.url).pathname}`,
      `${request.method} ${operation.path}`,
    );
  }
  // A server that shuts down sends the usual response without a body, and a proxy without a server sends a page.
  const isServerGone = status >= 400 && (headers["content-length"] === "0" || isPage(response));
  const declaredBody = isServerGone || isMoved(request, response) ? undefined : findDeclaredBody(operation, status);
  if (declaredBody === undefined) {
    // Sign-ins and proxies respond with a page.
    if (status < 400 && isPage(response) && headers.location === undefined)
      throw createUnexpectedError(formatExpectedStatuses(operation), response);
    const { text } = await readText(response);
    throw createServiceError(operation.id, request, response, text, repeatable);
  }
  const { drift, ...result } = await readDeclaredBody(declaredBody, request.method, response, readOptions);
  const ofStatus =
    operation.responses[status] || declaredBody.kind === "passthrough"
      ? []
      : [`status ${status} instead of ${listSuccessStatuses(operation).join(" or ")}`];
  return { status, headers, ...result, drift: [...ofStatus, ...drift] };
}

/** Creates the error for a rejected request. `text` is the whole body, as JSON or in another form. */
export function createServiceError(
  operation: string,
  request: HttpRequest,
  { status, headers }: HttpResponse,
  text: string,
  repeatable = isIdempotent(request.method),
): ServiceError {
  const body = parseBody(text);
  const outcomeUnknown = !repeatable && isOutcomeUnknown(status, headers);
  const path = formatRequestPath(request);
  const problem = parseRedirect(request, status, headers) ?? parseProblem(status, body);
  return new ServiceError({ operation, method: request.method, path, status, problem, body, headers, outcomeUnknown });
}

/** Redirects are not followed, because credentials are for the configured address. */
function parseRedirect({ url }: HttpRequest, status: number, headers: HttpResponse["headers"]) {
  const target = findRedirectTarget(url, status, headers);
  return target && parseProblem(status, { detail: `The service redirects to ${redactUrl(target.href)}` });
}

const findRedirectTarget = (url: string, status: number, { location }: HttpResponse["headers"]): URL | undefined =>
  status >= 300 && status < 400 && location !== undefined && URL.canParse(location, url)
    ? new URL(location, url)
    : undefined;

/** Whether the service has another address. Clusters redirect too, but temporarily and to other paths. */
function isMoved({ url }: HttpRequest, { status, headers }: HttpResponse): boolean {
  const target = findRedirectTarget(url, status, headers);
  if (target === undefined) return false;
  const isSamePath = trimTrailing(target.pathname, "/") === trimTrailing(new URL(url).pathname, "/");
  return isSamePath || status === 301 || status === 308;
}

/** Returns the requested path without its secrets. */
export const formatRequestPath = ({ url }: Pick<HttpRequest, "url">): string => redactUrl(new URL(url).pathname);

const formatExpectedStatuses = ({ responses }: CallableOperation): string =>
  `status ${Object.keys(responses).join(" or ")}`;

export const getBodyKind = (operation: CallableOperation, status: number): DeclaredBody["kind"] | undefined =>
  findDeclaredBody(operation, status)?.kind;

function findDeclaredBody({ responses }: CallableOperation, status: number): DeclaredBody | undefined {
  const exact = responses[status];
  if (exact || status >= 400) return exact;
  const all = Object.values(responses);
  // A forwarded response can have any success status of its cluster.
  const passing = all.find(({ kind }) => kind === "passthrough");
  if (passing) return passing;
  if (status < 300) return Object.entries(responses).find(([status]) => Number(status) < 300)?.[1] ?? all[0];
  return all.find(({ kind }) => kind === "redirect");
}

const listSuccessStatuses = ({ responses }: CallableOperation): string[] =>
  Object.keys(responses).filter((status) => status < "400");

type DeclaredBody = CallableOperation["responses"][number];
type DeclaredDocument = Extract<DeclaredBody, { kind: "bytes" }>;
type ParseResult = Pick<ApiResponse, "value" | "drift" | "shapeProblem">;

function createResult(value: unknown, drift: readonly string[] = []): ParseResult {
  return { value, drift, shapeProblem: undefined };
}

async function readDeclaredBody(
  declaredBody: DeclaredBody,
  method: string,
  response: HttpResponse,
  { onMissed, exactNumbers }: ResponseReadOptions,
): Promise<ParseResult> {
  const restoreNumbers = (text: string, value: unknown) => (exactNumbers ? restoreExactNumbers(text, value) : value);
  const parseAsText = (text: string) => {
    const value = parseBody(text);
    return value === text ? text : restoreNumbers(text, value);
  };
  if (declaredBody.kind === "bytes") return readDocument(declaredBody, response);
  if (declaredBody.kind === "events") {
    if (isPage(response)) throw createUnexpectedError("a stream of events", response);
    const isStream = getMediaType(response) === "text/event-stream";
    if (isStream) return createResult(parseServerSentEvents(response.body, onMissed));
  }
  const { text, drift: textDrift } = await readText(response);
  switch (declaredBody.kind) {
    case "json": {
      if (text.trim() === "") return createNonJsonResult("an empty body");
      const value = parseResponseJson(response, text);
      // Replaced characters could be used as data. A write may have succeeded.
      if (textDrift.length > 0 && method === "GET") throw createUnexpectedError("JSON", response, ...textDrift);
      if (value === undefined) {
        // Sign-in pages of networks respond 200. A read has no value then; a write may have succeeded.
        if (isPage(response)) throw createUnexpectedError("JSON", response);
        if (method === "GET") throw createUnexpectedError("JSON", response, "text that is not JSON");
        return createNonJsonResult("text", text);
      }
      const output = restoreNumbers(text, value);
      if (!declaredBody.schema) return createResult(output, textDrift);
      const { drift, shapeProblem } = compareBody(declaredBody.schema, value);
      return { value: output, drift: [...textDrift, ...drift], shapeProblem };
    }
    case "empty":
      if (text.trim() === "") return createResult(undefined);
      // Proxies and sign-ins respond with a page instead of the service.
      if (isMarkup(text) || isPage(response)) throw createUnexpectedError("nothing", response, "HTML");
      return createResult(parseAsText(text), ["a body instead of none"]);
    case "html":
      return createResult(text, textDrift);
    case "redirect":
    case "passthrough":
      return createResult(response.headers.location ?? (text === "" ? undefined : parseAsText(text)), textDrift);
    case "events": {
      const events = text === "" ? [] : [parseBody(text)];
      return createResult(Readable.from(events), ["a single response instead of a stream of events"]);
    }
  }
}

/** A page instead of a document is an error. Uploaded bytes can have any content. */
function readDocument({ mediaType, others = [] }: DeclaredDocument, response: HttpResponse): ParseResult {
  if (mediaType === "application/octet-stream") return createResult(response.body);
  if (isPage(response)) throw createUnexpectedError(`a document (${mediaType})`, response);
  const declaredTypes = [mediaType, ...others].map(parseMediaType);
  const type = getMediaType(response);
  const isOther = type !== "" && !declaredTypes.includes(type);
  return createResult(response.body, isOther ? [`${type} instead of ${declaredTypes.join(" or ")}`] : []);
}

function createNonJsonResult(received: string, value?: string): ParseResult {
  const problem = `${received} instead of JSON`;
  return { value, drift: [problem], shapeProblem: problem };
}

const isPage = ({ headers }: HttpResponse): boolean => /\bhtml\b/.test(headers["content-type"] ?? "");
const isMarkup = (text: string): boolean => /^\s*</.test(text);
const getMediaType = ({ headers }: HttpResponse): string => parseMediaType(headers["content-type"] ?? "");
const parseMediaType = (contentType: string): string => contentType.split(";", 1)[0]!.trim().toLowerCase();

function createUnexpectedError(expected: string, response: HttpResponse, received?: string): InvalidResponseError {
  const description = received ?? (isPage(response) ? "HTML" : "something else");
  return new InvalidResponseError(
    response.status,
    `Expected ${expected}, but the service responded ${response.status} with ${description}.`,
  );
}

/**
 * Compares a body with its schema. The value is returned despite unknown keys and other differences (DECISIONS.md,
 * E10).
 */
function compareBody(schema: z.ZodType, value: unknown): Pick<ApiResponse, "drift" | "shapeProblem"> {
  const issues = findIssues(schema, value);
  const drift = issues.flatMap((issue) => {
    const path = issue.path.map(String);
    return issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => `${[...path, key].join(".")}: not declared`)
      : [`${path.join(".") || "body"}: ${issue.message}`];
  });
  return { drift, shapeProblem: getFirstShapeProblem(issues, value) };
}

export async function readBytes(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export const readBodyText = async (body: AsyncIterable<Uint8Array>): Promise<string> => String(await readBytes(body));

/** Reads a body as UTF-8, the charset of JSON (RFC 8259, 8.1). Invalid bytes become U+FFFD, which `drift` reports. */
async function readText({ body }: HttpResponse): Promise<{ text: string; drift: readonly string[] }> {
  const bytes = await readBytes(body);
  return { text: new TextDecoder().decode(bytes), drift: isUtf8(bytes) ? [] : ["text that is not UTF-8"] };
}

function parseBody(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** Parses the JSON of a response. Returns undefined for plain text. Truncated JSON and pages are invalid. */
function parseResponseJson(response: HttpResponse, text: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    if (isMarkup(text)) throw createUnexpectedError("JSON", response, "HTML");
    if (/^nested/.test((cause as Error).message)) throw createUnexpectedError("JSON", response, "too complex a value");
    if (/^\s*[[{]/.test(text)) throw createUnexpectedError("JSON", response, "text that is not JSON");
    return undefined;
  }
}

/** Returns the virtual time of a response of an emulator in milliseconds. Undefined for other services. */
export function readVirtualTime(headers: Readonly<Record<string, string>>): number | undefined {
  const ms = Date.parse(headers["x-svc-time"] ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}
