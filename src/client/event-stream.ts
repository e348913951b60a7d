import { toFields } from "../base/object.ts";
import { formatSize } from "../base/quantities.ts";
import { parseJson } from "./body.ts";
import { InvalidResponseError } from "./errors.ts";
import type { CallOptions } from "./published.d.ts";

/**
 * A stream can continue forever, but an unfinished event is limited. Entries of the request log take a few kilobytes.
 */
const maxEventBytes = 16 * 2 ** 20;

/**
 * Parses the documents of a stream of server-sent events (WHATWG HTML, 9.2). An event `resync` is reported to the
 * handler. Throws InvalidResponseError.
 */
export async function* parseServerSentEvents(
  body: AsyncIterable<Uint8Array>,
  onMissed: CallOptions["onMissed"] = () => {},
): AsyncGenerator<unknown> {
  let data: string[] = [];
  let isResync = false;
  let size = 0;
  for await (const line of readLines(body)) {
    size += line.length;
    if (size > maxEventBytes) throw createTooLargeError();
    if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
    if (/^event: ?resync$/.test(line)) isResync = true;
    if (line !== "") continue;
    const event = data.length > 0 ? parseEvent(data.join("\n")) : undefined;
    if (isResync) onMissed(getMissedCount(event));
    else if (data.length > 0) yield event;
    isResync = false;
    data = [];
    size = 0;
  }
}

/** Lines end with CR LF, LF or CR. The chunks of a line are joined once, at its end. */
async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let size = 0;
  let afterCarriageReturn = false;
  for await (const chunk of body) {
    const decoded = decoder.decode(chunk, { stream: true });
    if (decoded === "") continue;
    const text: string = afterCarriageReturn && decoded.startsWith("\n") ? decoded.slice(1) : decoded;
    afterCarriageReturn = text.endsWith("\r");
    const [first = "", ...furtherLines] = text.split(/\r\n|\n|\r/);
    pieces.push(first);
    size += first.length;
    if (size > maxEventBytes) throw createTooLargeError();
    if (furtherLines.length === 0) continue;
    yield pieces.join("");
    yield* furtherLines.slice(0, -1);
    pieces = [furtherLines.at(-1)!];
    size = pieces[0]!.length;
  }
}

const createTooLargeError = (): InvalidResponseError =>
  new InvalidResponseError(200, `The service sent an event of more than ${formatSize(maxEventBytes)}.`);

function getMissedCount(event: unknown): number | undefined {
  const { missed } = toFields(event);
  return typeof missed === "number" ? missed : undefined;
}

function parseEvent(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new InvalidResponseError(200, "The service sent an event that is not JSON.");
  }
}
