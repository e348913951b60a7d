import type * as z from "zod";
import type { Callable } from "../api/operation.ts";
import { redactUrl } from "../api/secrets.ts";
import { MisroutedCall, ServiceError, UnreadableAnswer } from "./errors.ts";
import { eventsOf, type OnMissed } from "./events.ts";
import { parseJson } from "./json-text.ts";
import type { ReadMode } from "./limits.ts";
import { problemOf } from "./problem.ts";
import type { HttpRequest } from "./request.ts";
import { firstShapeProblem, issuesIn } from "./shape.ts";

export interface HttpResponse {
  readonly status: number;
  /** Lower-case names; repeated ones joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** A success, checked against its declaration. */
export interface Answer<Value = unknown> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The service's own value, undeclared fields included. */
  readonly value: Value;
  /** Where the value differs from the declaration: `items.0.colour: not declared`. */
  readonly drift: readonly string[];
  /** Why the value cannot be read by its declaration (src/client/shape.ts); undefined where it can, or nobody looked. */
  readonly shapeProblem: string | undefined;
}

/** The value of an answer whose fields are about to be read. Throws UnreadableAnswer where they are not there. */
export function readable<Value>({ status, value, shapeProblem }: Answer<Value>): Value {
  if (shapeProblem === undefined) return value;
  throw new UnreadableAnswer(
    status,
    `The service answered ${status} with something else than is declared: ${shapeProblem}.`,
  );
}

/** How an answer of that status is read: bytes and events are handed on as they come. */
export function readingOf({ id, responses }: Callable, status: number): ReadMode {
  const kind = responses[status]?.kind;
  // The one document of ours that grows with all the data.
  if (id === "state.export" && kind === "json") return "export";
  return kind === "bytes" ? "stream" : kind === "events" ? "events" : "whole";
}

/** Checks an answer: its value, or a thrown ServiceError, UnreadableAnswer or MisroutedCall. */
export async function readResponse(
  operation: Callable,
  request: HttpRequest,
  response: HttpResponse,
  onMissed?: OnMissed,
): Promise<Answer> {
  const { status, headers } = response;
  if (headers["x-svc-matched"] === "catch-all" && routed.has(operation.service.name) && !isCatchAll(operation)) {
    await textOf(response.body);
    throw new MisroutedCall(
      `${request.method} ${new URL(request.url).pathname}`,
      `${request.method} ${operation.path}`,
    );
  }
  const declared = operation.responses[status];
  if (declared === undefined && !passesThrough(operation, status)) {
    // Sign-ins and proxies answer with a page, or send on to one.
    if (status < 400 && isPage(response)) throw unexpected(expectedStatuses(operation), response);
    const body = parsed(await textOf(response.body));
    throw new ServiceError({
      operation: operation.id,
      method: request.method,
      path: shownPath(request),
      status,
      problem: problemOf(status, body),
      body,
      headers,
    });
  }
  return { status, headers, ...(await read(declared ?? { kind: "passthrough" }, response, onMissed)) };
}

/** The path that was asked for, without the secrets in it. */
export const shownPath = ({ url }: Pick<HttpRequest, "url">): string => redactUrl(new URL(url).pathname);

const expectedStatuses = ({ responses }: Callable): string => `status ${Object.keys(responses).join(" or ")}`;

/** What is served where the catch-all is, and never by it. */
const routed: ReadonlySet<string> = new Set<Callable["service"]["name"]>(["router", "emulator"]);

const isCatchAll = (operation: Callable): boolean => Array.isArray(operation.method);

/** A cluster may answer any success of its own where its answer passes unchecked. */
const passesThrough = (operation: Callable, status: number): boolean =>
  status < 400 && Object.values(operation.responses).some(({ kind }) => kind === "passthrough");

async function read(
  declared: Callable["responses"][number],
  response: HttpResponse,
  onMissed: OnMissed | undefined,
): Promise<Pick<Answer, "value" | "drift" | "shapeProblem">> {
  const plain = (value: unknown) => ({ value, drift: [], shapeProblem: undefined });
  switch (declared.kind) {
    case "json": {
      const value = jsonOf(response.status, await textOf(response.body));
      return declared.schema ? { value, ...compared(declared.schema, value) } : plain(value);
    }
    case "empty": {
      // Content is ignored; but a page is what proxies and sign-ins answer in place of the service.
      const text = await textOf(response.body);
      if (/^\s*</.test(text)) {
        throw new UnreadableAnswer(
          response.status,
          `Expected nothing, but the service answered ${response.status} with HTML.`,
        );
      }
      return plain(undefined);
    }
    case "html":
      return plain(await textOf(response.body));
    case "bytes":
      // A page in place of a document; what was uploaded as octets may be anything.
      if (declared.mediaType !== "application/octet-stream" && isPage(response))
        throw unexpected(`a document (${declared.mediaType})`, response);
      return plain(response.body);
    case "redirect":
      await textOf(response.body);
      return plain(response.headers.location);
    case "events":
      if (!/^text\/event-stream\b/.test(response.headers["content-type"] ?? ""))
        throw unexpected("a stream of events", response);
      return plain(eventsOf(response.body, onMissed));
    case "passthrough": {
      const text = await textOf(response.body);
      return plain(response.headers.location ?? (text === "" ? undefined : parsed(text)));
    }
  }
}

const isPage = ({ headers }: HttpResponse): boolean => /\bhtml\b/.test(headers["content-type"] ?? "");

function unexpected(what: string, response: HttpResponse): UnreadableAnswer {
  const received = isPage(response) ? "HTML" : "something else";
  return new UnreadableAnswer(
    response.status,
    `Expected ${what}, but the service answered ${response.status} with ${received}.`,
  );
}

/** Unknown keys and other differences; the value is handed over all the same (DECISIONS.md, E10). */
function compared(schema: z.ZodType, value: unknown): Pick<Answer, "drift" | "shapeProblem"> {
  const issues = issuesIn(schema, value);
  const drift = issues.flatMap((issue) => {
    const at = (key?: string) => [...issue.path.map(String), ...(key === undefined ? [] : [key])].join(".") || "body";
    return issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => `${at(key)}: not declared`)
      : [`${at()}: ${issue.message}`];
  });
  return { drift, shapeProblem: firstShapeProblem(issues, value) };
}

export async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

function jsonOf(status: number, text: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    const start = text.trimStart();
    const isDeep = /^nested/.test((cause as Error).message);
    const isPage = start.startsWith("<");
    const what = start === "" ? "an empty body" : isPage ? "HTML" : isDeep ? "a maze of it" : "text that is not JSON";
    throw new UnreadableAnswer(status, `Expected JSON, but the service answered ${status} with ${what}.`);
  }
}
