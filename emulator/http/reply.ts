import type { Operation, ResultOf } from "../../src/api/operation.ts";

/** An answer that is more than the bare body of the one declared success. Made by `reply`. */
export class Reply<O extends Operation = Operation> {
  readonly status: keyof O["responses"] & number;
  readonly body: ResultOf<O>;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: keyof O["responses"] & number, body: ResultOf<O>, headers: Readonly<Record<string, string>>) {
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

/** Chooses among several declared successes, or adds headers. */
export const reply = <O extends Operation>(
  status: keyof O["responses"] & number,
  body: ResultOf<O>,
  headers: Readonly<Record<string, string>> = {},
): Reply<O> => new Reply<O>(status, body, headers);

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
