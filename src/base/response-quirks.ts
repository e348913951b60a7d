import type { buildConnector } from "undici";

/* Messages that HTTP allows, and undici or Node does not by default. */

/**
 * Maximum size of a head, which is four times Node's default: other clients are less strict, and browsers send the
 * cookies of all programs on localhost.
 */
export const maxHeadBytes = 65_536;

const statusLine = /^HTTP\/1\.[01] 100[ \r]/;
/** Number of bytes that decide whether an incomplete start can belong to a 100 response. */
const maxPrefixBytes = "HTTP/1.1 100 ".length;
const maxBufferedBytes = 65_536;

interface Connection {
  readonly bytesWritten: number;
  on(event: "readable", listener: () => void): unknown;
  read(): Buffer | null;
  unshift(chunk: Buffer): void;
}

/**
 * Skips unrequested 100 responses. A server can send such a response to any request (RFC 9110, 15.2), but undici treats
 * the connection as broken. The first data after a write is the start of a response. This listener is registered first,
 * so that the other listeners read the data that it puts back.
 */
function skipContinue(socket: Connection): void {
  let bytesBefore = socket.bytesWritten;
  let awaitsHead = false;
  let heldBytes: Buffer | undefined;
  socket.on("readable", () => {
    if (socket.bytesWritten !== bytesBefore) {
      bytesBefore = socket.bytesWritten;
      awaitsHead = true;
    }
    if (!awaitsHead) return;
    const chunk = socket.read();
    if (chunk === null) return;
    const rest = removeContinue(heldBytes ? Buffer.concat([heldBytes, chunk]) : chunk);
    heldBytes = rest.isWhole || rest.bytes.length > maxBufferedBytes ? undefined : rest.bytes;
    if (heldBytes || rest.bytes.length === 0) return;
    awaitsHead = false;
    socket.unshift(rest.bytes);
  });
}

/** Removes leading 100 responses from the bytes. `isWhole` is false if the bytes end within a possible 100 response. */
function removeContinue(bytes: Buffer): { readonly bytes: Buffer; readonly isWhole: boolean } {
  if (bytes.length < maxPrefixBytes) {
    return { bytes, isWhole: bytes.length > 0 && !"HTTP/1.1 100 ".startsWith(bytes.toString("latin1")) };
  }
  if (!statusLine.test(bytes.toString("latin1", 0, maxPrefixBytes))) return { bytes, isWhole: true };
  const end = bytes.indexOf("\r\n\r\n");
  return end < 0 ? { bytes, isWhole: false } : removeContinue(bytes.subarray(end + 4));
}

/** Reports whether a response has no body, regardless of the declared length (RFC 9112, 6.3). */
export const hasNoBody = (status: number): boolean => status === 204 || status === 304;

/** Wraps a connector for servers that send 100 before the response. */
export const createContinueSkippingConnector =
  (connect: buildConnector.connector): buildConnector.connector =>
  (target, callback) =>
    connect(target, (...[error, socket]: buildConnector.CallbackArgs) => {
      if (error) return callback(error, null);
      skipContinue(socket);
      callback(null, socket);
    });
