import { InvalidResponseError } from "../../client/errors.ts";
import type { ApiResponse } from "../../client/response.ts";

/**
 * The bytes of a document that is about to replace a file. Throws InvalidResponseError where a part of it came, or nothing,
 * unless it may be empty.
 */
export function documentBytes(
  { status, value }: Pick<ApiResponse, "status" | "value">,
  { mayBeEmpty }: { readonly mayBeEmpty: boolean },
): AsyncIterable<Uint8Array> {
  if (status === 206) throw new InvalidResponseError(status, "The service answered 206 with a part of the document.");
  const bytes = value as AsyncIterable<Uint8Array>;
  return mayBeEmpty && status !== 204 && status !== 205 ? bytes : notEmpty(bytes, status);
}

async function* notEmpty(bytes: AsyncIterable<Uint8Array>, status: number): AsyncGenerator<Uint8Array> {
  let isEmpty = true;
  for await (const chunk of bytes) {
    isEmpty &&= chunk.byteLength === 0;
    yield chunk;
  }
  if (isEmpty) throw emptyAnswer("a document", status);
}

/** Of a request that asked for something. */
export const emptyAnswer = (what: string, status: number): InvalidResponseError =>
  new InvalidResponseError(status, `Expected ${what}, but the service answered ${status} with an empty body.`);
