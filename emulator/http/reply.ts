import type { Operation, ResultOf } from "../../src/api/operation.ts";

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
export const uncached = { "cache-control": "no-store", pragma: "no-cache" } as const;

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
