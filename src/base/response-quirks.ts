import type { buildConnector } from "undici";

/* Responses that HTTP allows and undici does not. */

const statusLine = /^HTTP\/1\.[01] 100[ \r]/;
/** Whether an incomplete start can belong to a 100 response. */
const maxPrefixBytes = "HTTP/1.1 100 ".length;
const maxHeldBytes = 65_536;

/** A connection for one request after another. */
interface Connection {
  readonly bytesWritten: number;
  on(event: "readable", listener: () => void): unknown;
  read(): Buffer | null;
  unshift(chunk: Buffer): void;
}

/**
 * Skips unrequested 100 responses: a server may send one to any request (RFC 9110, 15.2), and undici treats it as a
 * broken connection. The first data after a write is the start of a response. Registered before other listeners, which
 * then read the data that is put back.
 */
function skipContinue(socket: Connection): void {
  let written = socket.bytesWritten;
  let awaitsHead = false;
  let held: Buffer | undefined;
  socket.on("readable", () => {
    if (socket.bytesWritten !== written) {
      written = socket.bytesWritten;
      awaitsHead = true;
    }
    if (!awaitsHead) return;
    const chunk = socket.read();
    if (chunk === null) return;
    const rest = removeContinue(held ? Buffer.concat([held, chunk]) : chunk);
    held = rest.isWhole || rest.bytes.length > maxHeldBytes ? undefined : rest.bytes;
    if (held || rest.bytes.length === 0) return;
    awaitsHead = false;
    socket.unshift(rest.bytes);
  });
}

/** The bytes without leading 100 responses. Incomplete if the start of one is still missing its end. */
function removeContinue(bytes: Buffer): { readonly bytes: Buffer; readonly isWhole: boolean } {
  if (bytes.length < maxPrefixBytes) {
    return { bytes, isWhole: bytes.length > 0 && !"HTTP/1.1 100 ".startsWith(bytes.toString("latin1")) };
  }
  if (!statusLine.test(bytes.toString("latin1", 0, maxPrefixBytes))) return { bytes, isWhole: true };
  const end = bytes.indexOf("\r\n\r\n");
  return end < 0 ? { bytes, isWhole: false } : removeContinue(bytes.subarray(end + 4));
}

/** Whether a response has no body, whatever length it declares (RFC 9112, 6.3). */
export const hasNoBody = (status: number): boolean => status === 204 || status === 304;

/** Wraps a connector, for servers that may send 100 before the response. */
export const createContinueSkippingConnector =
  (connect: buildConnector.connector): buildConnector.connector =>
  (target, callback) =>
    connect(target, (...[error, socket]: buildConnector.CallbackArgs) => {
      if (error) return callback(error, null);
      skipContinue(socket);
      callback(null, socket);
    });
