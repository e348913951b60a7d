import type { IncomingMessage } from "node:http";

/** DECISIONS.md, R16 and C24 */
export const maxBodyBytes = 64 * 1024 * 1024;

/** Of a request, or of what it would make the emulator tell others. */
export class BodyTooLarge extends Error {
  override readonly name = "BodyTooLarge";
}

/** The caller went away before its body was complete: there is nobody to answer. */
export class BodyAborted extends Error {
  override readonly name = "BodyAborted";
}

/** The caller takes longer than a request may. */
export class BodyLate extends Error {
  override readonly name = "BodyLate";
}

/** Whether the request announces a body. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined ||
  (headers["content-length"] !== undefined && headers["content-length"] !== "0");

/**
 * The whole body as one Buffer. Fails with BodyTooLarge as soon as it is known to be over `maxBytes`, and with BodyLate
 * when `enter`, which gives the way to leave, has called back first.
 */
export function collect(
  raw: IncomingMessage,
  maxBytes: number,
  enter: (late: () => void) => () => void,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(raw.headers["content-length"]) > maxBytes) return reject(new BodyTooLarge("announced"));
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
      if (size > maxBytes) done(new BodyTooLarge("sent"));
      else chunks.push(chunk);
    };
    const onEnd = () => done();
    const onClose = () => done(new BodyAborted("aborted"));
    const leave = enter(() => done(new BodyLate("the body did not come in time")));
    raw.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}
