import { hiddenFrom } from "../../../src/api/control-roles.ts";
import { redactText, redactUrl } from "../../../src/api/secrets.ts";
import { EventFrames, JsonPieces, Reply } from "../../http/reply.ts";
import { Resync } from "../../http/sending/event-stream.ts";

const hiddenSecret = hiddenFrom("the role operate");

/** Fields of the control plane that hold secrets, alone or in lists: keys, tokens, codes, and links that act as a person. */
const isSecret = (name: string): boolean =>
  /^(?:token|link|user_code|hmac_key|cluster_key|authorization_url|redirect_url)$|_(?:secret|token|tokens|password|signature)$/.test(
    name,
  );

/** Operations whose bytes are whatever somebody sent. */
const isRaw = (operation: string): boolean => operation === "clusters.inbox" || operation === "emails.blackhole";

/** What a token of the role read is shown of an operation's result: all of it but secrets. */
export function maskResult(operation: string, result: unknown): unknown {
  if (result instanceof Reply) return new Reply(result.status, mask(result.body, "", operation), result.headers);
  if (isStream(result)) return masked(operation, result);
  return mask(result, "", operation);
}

const isStream = (result: unknown): result is AsyncIterable<unknown> =>
  typeof result === "object" && result !== null && Symbol.asyncIterator in result;

async function* masked(operation: string, items: AsyncIterable<unknown>): AsyncGenerator<unknown, void> {
  for await (const item of items) {
    if (item instanceof Resync) yield item;
    else yield item instanceof EventFrames ? maskFrames(operation, item) : mask(item, "", operation);
  }
}

const maskFrames = (operation: string, { text }: EventFrames): EventFrames =>
  new EventFrames(
    text.replace(
      /^data: ?(.*)$/gm,
      (_, json: string) => `data: ${JSON.stringify(mask(JSON.parse(json), "", operation))}`,
    ),
  );

function mask(value: unknown, name: string, operation: string): unknown {
  if (typeof value === "string") {
    if (isSecret(name) || (isRaw(operation) && (name === "body" || name === "headers"))) return hiddenSecret;
    return redactText(redactUrl(value));
  }
  if (typeof value !== "object" || value === null || value instanceof Uint8Array || value instanceof JsonPieces) {
    return value;
  }
  if (Array.isArray(value)) return value.map((one) => mask(one, name, operation));
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      // What differs between two states goes by the name of the field, with both values below it.
      const inherits = isSecret(name) && !Array.isArray(value);
      return [key, mask(inner, inherits ? name : key, operation)];
    }),
  );
}
