import type * as z from "zod";
import type { Operation, ResponseBody } from "../../src/api/operation.ts";
import { EmulatorBugError } from "../../src/base/errors.ts";
import { toExactJson } from "../../src/base/json.ts";
import { createEventStream } from "./event-stream.ts";
import { filterEndToEndHeaders, removeHeaders } from "./hop-by-hop.ts";
import { HandlerReply, type HttpResponse, jsonHeaders, Passthrough } from "./reply.ts";

/** Throws EmulatorBugError if the result of a handler does not match the declaration. */
export type ResponseProducer = (result: unknown) => HttpResponse;

type ResponseWriter = (body: unknown) => Pick<HttpResponse, "headers" | "body">;

export function createResponseProducer({ id, responses }: Operation): ResponseProducer {
  const declaredResponses = Object.entries(responses).map(([status, kind]) => [Number(status), kind] as const);
  const writers = new Map(declaredResponses.map(([status, kind]) => [status, createWriter(id, kind)]));
  const onlyStatus = declaredResponses.length === 1 ? declaredResponses[0]![0] : undefined;

  return (result) => {
    if (result instanceof Passthrough) return toPassthroughResponse(result);
    const isReply = result instanceof HandlerReply;
    const status = isReply ? result.status : onlyStatus;
    if (status === undefined)
      throw new EmulatorBugError("Several statuses are declared: the handler must choose with reply()", {
        operation: id,
      });
    const write = writers.get(status);
    if (!write) throw new EmulatorBugError(`Status ${status} is not declared`, { operation: id });
    const { headers, body } = write(isReply ? result.body : result);
    return { status, headers: isReply ? mergeHeaders(headers, result.headers) : headers, body };
  };
}

export function toPassthroughResponse({ status, rawHeaders, body, emulatorHeaders }: Passthrough): HttpResponse {
  const endToEndHeaders = filterEndToEndHeaders(rawHeaders);
  // A 204 has no length (RFC 9110, 8.6), because clients would expect a body.
  const headers = status === 204 ? removeHeaders(endToEndHeaders, ["content-length"]) : endToEndHeaders;
  return { status, headers: [...headers, ...emulatorHeaders], body, isForeign: true };
}

/** Adds the handler's headers, which override the headers of the same name. */
function mergeHeaders(headers: readonly string[], handlerHeaders: Readonly<Record<string, string>>): readonly string[] {
  const names = Object.keys(handlerHeaders).map((name) => name.toLowerCase());
  return [...Object.entries(handlerHeaders).flat(), ...removeHeaders(headers, names)];
}

function createWriter(id: string, response: ResponseBody): ResponseWriter {
  switch (response.kind) {
    case "json":
      return response.inPieces ? writePieces : createDocumentWriter(id, response.schema);
    case "empty":
      return () => ({ headers: [], body: undefined });
    case "html": {
      const headers = ["content-type", "text/html; charset=utf-8"];
      return (text) => ({ headers, body: text as string });
    }
    case "bytes": {
      const headers = ["content-type", response.mediaType];
      return (bytes) => ({ headers, body: bytes as HttpResponse["body"] });
    }
    case "redirect":
      return (location) => ({ headers: ["location", toHeader(location as string)], body: undefined });
    case "events": {
      // nginx otherwise holds back the events, and the headers with them.
      const headers = ["content-type", "text/event-stream", "cache-control", "no-store", "x-accel-buffering", "no"];
      return (items) => ({ headers, body: createEventStream(items as AsyncIterable<unknown>) });
    }
    case "passthrough":
      return (body) => ({ headers: jsonHeaders, body: JSON.stringify(body ?? null) });
  }
}

/** Encodes a location, because it can contain data of a client, which must not end the header. */
const toHeader = (location: string): string =>
  location.replace(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(Buffer.from(character).toString()));

/** The writer is strict, because an undeclared field is a bug that must not reach clients. */
const createDocumentWriter =
  (id: string, schema: z.ZodType): ResponseWriter =>
  (body) => {
    const parsed = schema.safeParse(body);
    if (!parsed.success) {
      throw new EmulatorBugError("The response is not as declared", { operation: id, cause: parsed.error });
    }
    return { headers: jsonHeaders, body: toExactJson(parsed.data) };
  };

const writePieces: ResponseWriter = (pieces) => ({
  headers: jsonHeaders,
  body: encodePieces(pieces as AsyncIterable<string>),
});

async function* encodePieces(pieces: AsyncIterable<string>): AsyncIterable<Uint8Array> {
  for await (const piece of pieces) yield Buffer.from(piece);
}
