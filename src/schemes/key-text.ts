import { decodeBase64 } from "../base/hmac.ts";

/**
 * The bytes of a key that is stored as base64. Throws a TypeError, which names it `what`, if it is missing or not
 * base64.
 */
export function decodeKey(text: string | undefined, what: string): Buffer {
  // A variable that is not set reaches programs as undefined, pipelines as an empty text.
  if (typeof text !== "string" || text === "")
    throw new TypeError(`${what} is missing. Check that its variable is set.`);
  const key = decodeBase64(text);
  // The key itself stays out of the message: messages reach logs.
  if (!key) throw new TypeError(`${what} is not padded standard base64`);
  return key;
}
