import type * as z from "zod";
import type { Operation, ResponseBody } from "../../src/api/operation.ts";
import { EmulatorBugError } from "../../src/base/errors.ts";
import { toExactJson } from "../../src/base/json.ts";
import { eventStream } from "./event-stream.ts";
import { keepEndToEndHeaders, removeHeaders } from "./hop-by-hop.ts";
import { type HttpResponse, type JsonPieces, jsonHeaders, Passthrough, Reply } from "./reply.ts";

/** Turns what a handler returned into a response, or fails with EmulatorBugError where it is not as declared. */
export type ResponseProducer = (result: unknown) => HttpResponse;

/** Makes the body and the headers of one declared success. */
type Write = (body: unknown) => Pick<HttpResponse, "headers" | "body">;

const noHeaders: readonly string[] = [];

/** Compiles the declared responses of an operation once. */
export function producerFor({ id, responses }: Operation): ResponseProducer {
  const declared = Object.entries(responses).map(([status, kind]) => [Number(status), kind] as const);
  const writers = new Map(declared.map(([status, kind]) => [status, writerFor(id, kind)]));
  const only = declared.length === 1 ? declared[0]![0] : undefined;
  const passes = declared.some(([, { kind }]) => kind === "passthrough");

  return (result) => {
    if (result instanceof Reply) {
      const write = writers.get(result.status);
      if (!write) throw new EmulatorBugError(`Status ${result.status} is not declared`, { operation: id });
      const made = write(result.body);
      return { status: result.status, headers: merge(made.headers, result.headers), body: made.body };
    }
    if (result instanceof Passthrough) {
      if (!passes) throw new EmulatorBugError("Responses of other servers are not declared", { operation: id });
      return toPassthroughResponse(result);
    }
    if (only === undefined) {
      throw new EmulatorBugError("Several statuses are declared: the handler must choose with reply()", {
        operation: id,
      });
    }
    const { headers, body } = writers.get(only)!(result);
    return { status: only, headers, body };
  };
}

export const toPassthroughResponse = ({ status, rawHeaders, body }: Passthrough): HttpResponse => ({
  status,
  // No length belongs to a 204 (RFC 9110, 8.6), and clients take it for a body to come.
  headers:
    status === 204
      ? removeHeaders(keepEndToEndHeaders(rawHeaders), ["content-length"])
      : keepEndToEndHeaders(rawHeaders),
  body,
  isForeign: true,
});

/** The handler's headers win over those of the kind. */
function merge(made: readonly string[], own: Readonly<Record<string, string>>): readonly string[] {
  const names = Object.keys(own);
  if (names.length === 0) return made;
  const taken = new Set(names.map((name) => name.toLowerCase()));
  const out = Object.entries(own).flat();
  for (let i = 0; i < made.length; i += 2) if (!taken.has(made[i]!)) out.push(made[i]!, made[i + 1]!);
  return out;
}

function writerFor(id: string, response: ResponseBody): Write {
  switch (response.kind) {
    case "json":
      return response.inPieces ? writePieces : documentWriter(id, response.schema);
    case "empty":
      return () => ({ headers: noHeaders, body: undefined });
    case "html": {
      const headers = ["content-type", "text/html; charset=utf-8"];
      return (text) => ({ headers, body: text as string });
    }
    case "bytes": {
      const headers = ["content-type", response.mediaType];
      return (bytes) => ({ headers, body: bytes as HttpResponse["body"] });
    }
    case "redirect":
      return (location) => ({ headers: ["location", asHeader(location as string)], body: undefined });
    case "events": {
      const headers = ["content-type", "text/event-stream", "cache-control", "no-store"];
      return (items) => ({ headers, body: eventStream(items as AsyncIterable<unknown>) });
    }
    case "passthrough":
      return (body) => ({ headers: jsonHeaders, body: JSON.stringify(body ?? null) });
  }
}

/** A location may hold what a caller sent; nothing in it may end the header. */
const asHeader = (location: string): string =>
  location.replace(/[^\x21-\x7e]/gu, (other) => encodeURIComponent(Buffer.from(other).toString()));

/** Strict: an undeclared field is a bug of ours, and never leaves the house. */
const documentWriter =
  (id: string, schema: z.ZodType): Write =>
  (body) => {
    const parsed = schema.safeParse(body);
    if (!parsed.success) {
      throw new EmulatorBugError("The response is not as declared", { operation: id, cause: parsed.error });
    }
    return { headers: jsonHeaders, body: toExactJson(parsed.data) };
  };

const writePieces: Write = (body) => ({ headers: jsonHeaders, body: encoded((body as JsonPieces).pieces) });

async function* encoded(pieces: AsyncIterable<string>): AsyncIterable<Uint8Array> {
  for await (const piece of pieces) yield Buffer.from(piece);
}
