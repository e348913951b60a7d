import type { IncomingMessage } from "node:http";

/** DECISIONS.md, R16 and C24 */
export const maxBodyBytes = 64 * 1024 * 1024;

/** Of a request, or of what it would make the emulator tell others. */
export class MaxBodyBytesExceededError extends Error {
  override readonly name = "MaxBodyBytesExceededError";
}

/** The caller went away before its body was complete: there is nobody to answer. */
export class BodyAbortedError extends Error {
  override readonly name = "BodyAbortedError";
}

/** The caller takes longer than a request may. */
export class BodyTimeoutError extends Error {
  override readonly name = "BodyTimeoutError";
}

/** Whether the request announces a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined ||
  (headers["content-length"] !== undefined && headers["content-length"] !== "0");

/**
 * The whole body as one Buffer. Fails with MaxBodyBytesExceededError as soon as it is known to be over `maxBytes`, and with BodyTimeoutError
 * when `enter`, which gives the way to leave, has called back first.
 */
export function readBody(
  raw: IncomingMessage,
  maxBytes: number,
  enter: (late: () => void) => () => void,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(raw.headers["content-length"]) > maxBytes) return reject(new MaxBodyBytesExceededError("announced"));
    const chunks: Buffer[] = [];
    let size = 0;
    const done = (error?: Error) => {
      raw.off("data", onData).off("end", onEnd).off("close", onClose);
      leave();
      if (error) reject(error);
      else resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size));
    };
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) done(new MaxBodyBytesExceededError("sent"));
      else chunks.push(chunk);
    };
    const onEnd = () => done();
    const onClose = () => done(new BodyAbortedError("aborted"));
    const leave = enter(() => done(new BodyTimeoutError("the body was not received in time")));
    raw.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}
