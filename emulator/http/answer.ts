import type { Failure } from "../../src/api/failure.ts";
import { type FailureCode, failures } from "../../src/api/failures.ts";
import { printPython } from "./bodies/python-print.ts";

/** What is sent: the last stage before the socket. */
export interface Answer {
  readonly status: number;
  /** Name, value, name, value, … without length, date and virtual time. */
  readonly headers: readonly string[];
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** It is another server's, handed on as it is. */
  readonly isForeign?: boolean;
  /** The declared failure that this is, for the request log. */
  readonly failure?: FailureCode;
}

/** Without a charset, as the routing service sends it (DECISIONS.md, P16). */
export const jsonHeaders = ["content-type", "application/json"] as const;

export const jsonAnswer = (status: number, document: unknown, headers: readonly string[] = []): Answer => ({
  status,
  headers: headers.length === 0 ? jsonHeaders : [...jsonHeaders, ...headers],
  body: JSON.stringify(document),
});

const contentTypes = { xml: "application/xml", text: "text/plain; charset=utf-8" } as const;

/** A declared failure put into its status, headers and body. */
export function failureAnswer(code: FailureCode, data: unknown): Answer {
  const failure = failures[code] as Failure<unknown>;
  const own = Object.entries(failure.headers?.(data) ?? {});
  const type = failure.shape === "xml" || failure.shape === "text" ? contentTypes[failure.shape] : "application/json";
  const headers = own.some(([name]) => name === "content-type") ? [] : ["content-type", type];
  const body = failure.body(data);
  return {
    status: failure.status,
    headers: [...headers, ...own.flat()],
    body: typeof body === "string" ? body : failure.shape === "validation" ? printPython(body) : JSON.stringify(body),
    failure: code,
  };
}
