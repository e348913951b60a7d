import { type IncomingMessage, type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { noSniffing } from "./sending/send.ts";

const statuses: ReadonlyMap<string | undefined, number> = new Map([
  ["ERR_HTTP_REQUEST_TIMEOUT", 408],
  ["HPE_HEADER_OVERFLOW", 431],
]);

/** Answers, on the bare socket, what cannot be read as a request. */
export function refuseUnread(error: Error & { readonly code?: string }, socket: Socket): void {
  // Nobody is left to be told.
  if (error.code === "ECONNRESET" || socket.destroyed) return;
  const status = statuses.get(error.code) ?? 400;
  const body = JSON.stringify({ detail: STATUS_CODES[status] });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
    noSniffing.join(": "),
    "connection: close",
  ];
  if (socket.writable) socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  socket.destroy(error);
}

/** Answers a request that expects something else than `100-continue`. */
export function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(417, [...noSniffing, "content-length", "0"]).end();
}

/** Answers what comes on an open connection while the listener closes. */
export async function refuseLate(_request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.writeHead(503, [...noSniffing, "content-length", "0", "connection", "close"]).end();
}
