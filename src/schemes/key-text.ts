import { decodeBase64 } from "../base/hmac.ts";

/** The bytes of a base64 key. Throws a TypeError that calls it `what` if it is missing or not base64. */
export function decodeKey(text: string | undefined, what: string): Buffer {
  // A variable that is not set is undefined in programs, and an empty string in pipelines.
  if (typeof text !== "string" || text === "")
    throw new TypeError(`${what} is missing. Check that its variable is set.`);
  const key = decodeBase64(text);
  // The message omits the key, because messages are logged.
  if (!key) throw new TypeError(`${what} is not padded standard base64`);
  return key;
}
