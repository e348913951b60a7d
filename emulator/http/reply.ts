import type { Operation, ResultOf } from "../../src/api/operation.ts";
import { type HttpResponse, jsonResponse } from "./response.ts";

/** An answer that is more than the bare body of the one declared success. Made by `reply`. */
export class Reply<Status extends number = number, Body = unknown> {
  readonly status: Status;
  readonly body: Body;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: Status, body: Body, headers: Readonly<Record<string, string>>) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** Headers of an answer that carries tokens (RFC 6749, 5.1). */
export const noStoreHeaders = { "cache-control": "no-store", pragma: "no-cache" } as const;

/** Chooses among several declared successes, or adds headers. */
export const reply = <Status extends number, Body>(
  status: Status,
  body: Body,
  headers: Readonly<Record<string, string>> = {},
): Reply<Status, Body> => new Reply(status, body, headers);

/** The replies that an operation declares. */
export type ReplyTo<O extends Operation> = Reply<keyof O["responses"] & number, ResultOf<O>>;

/** The text of a JSON document, in pieces that are joined by whoever reads them. */
export class JsonPieces {
  readonly pieces: AsyncIterable<string>;

  constructor(pieces: AsyncIterable<string>) {
    this.pieces = pieces;
  }
}

/**
 * The answer of another server, handed on as it is: status, raw headers (name, value, name, value, …) and bytes.
 * Hop-by-hop headers are left out when it is sent. A body that fails on the way ends the caller's connection.
 */
export class Passthrough {
  readonly status: number;
  readonly rawHeaders: readonly string[];
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;

  constructor(status: number, rawHeaders: readonly string[], body: Uint8Array | AsyncIterable<Uint8Array>) {
    this.status = status;
    this.rawHeaders = rawHeaders;
    this.body = body;
  }
}

/** Frames of an event stream as they go over the wire, with ids or comments: made by whoever knows how streams go on. */
export class EventFrames {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Answers that are the same whatever operation was meant. The control plane words them as it words all its failures. */

const errorBody = (isControl: boolean, code: string, message: string) =>
  isControl ? { error: { code, message } } : { detail: message };

export const forbiddenResponse = (isControl: boolean, message: string): HttpResponse =>
  jsonResponse(403, errorBody(isControl, "forbidden", message));

/** The rest of the body is not waited for, so nothing else can come on this connection. */
export const requestTimeoutResponse = (isControl: boolean): HttpResponse =>
  jsonResponse(408, errorBody(isControl, "request_timeout", "The request was not received in time."), [
    "connection",
    "close",
  ]);

/** `GET *`, `ftp://host/`: no server could find anything there (RFC 9112, 3.2). */
export const invalidTargetResponse: HttpResponse = jsonResponse(400, {
  detail: "The request target must be a path or an http URL.",
});

/** `/a/..%2f..%2fb`: a path to some servers, and another one to others. */
export const ambiguousTargetResponse: HttpResponse = jsonResponse(400, {
  detail: "The path has a dot segment next to an encoded slash or a backslash. Send the resolved path.",
});

export const notReadyResponse: HttpResponse = jsonResponse(503, { detail: "The emulator is starting." }, [
  "retry-after",
  "1",
]);

/** Nothing of it was kept; sent again, it meets the state that is there now. */
export const stateReplacedResponse = (isControl: boolean): HttpResponse =>
  jsonResponse(
    503,
    errorBody(
      isControl,
      "state_replaced",
      "The state was replaced while this request was in progress. Nothing was saved.",
    ),
    ["retry-after", "1"],
  );
