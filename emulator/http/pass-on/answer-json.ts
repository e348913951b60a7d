import type { ServerResponse } from "node:http";
import { noSniffing } from "../sending/send.ts";

/** Answers with a document where no operation does. `headers`: names and values in turns. */
export function answerJson(
  response: ServerResponse,
  status: number,
  document: unknown,
  headers: readonly string[] = [],
): void {
  const body = JSON.stringify(document);
  const json = ["content-type", "application/json", "content-length", String(Buffer.byteLength(body))];
  response.writeHead(status, [...noSniffing, ...headers, ...json]).end(body);
}
