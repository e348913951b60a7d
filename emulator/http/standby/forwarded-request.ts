import type { IncomingMessage, ServerResponse } from "node:http";
import { noSniffHeader } from "../sending/send.ts";
import type { ForwardedInfo } from "../trusted-proxies.ts";

/*
 * Headers between processes that share a store. A client's own are taken off on the way in, and a back end's on the way
 * out, so nothing from outside can be mistaken for them.
 */

/** On a request that a standby forwards: the key of the leader's term, and what the standby knows of the caller. */
export const forwardedHeader = "x-svc-forwarded";
/** On a response by a process that does not lead and has done nothing: the key that the request brought. */
export const notLeadingHeader = "x-svc-not-leading";

/** A request that another process of the store forwarded. */
export interface ForwardedRequest {
  /** Of the term to which it was sent. */
  readonly key: string;
  readonly remoteAddress: string;
  /** What a trusted proxy said to the process that was asked. */
  readonly told: ForwardedInfo | undefined;
}

const form = /^([\w-]{43})\.([\w-]+)$/;

export const formatForwardedHeader = ({ key, remoteAddress, told }: ForwardedRequest): string =>
  `${key}.${Buffer.from(JSON.stringify([remoteAddress, told ?? null])).toString("base64url")}`;

/** Takes the internal headers off a request; undefined: a client sent it. */
export function extractForwarded({ headers, rawHeaders }: IncomingMessage): ForwardedRequest | undefined {
  const value = headers[forwardedHeader];
  if (value === undefined && headers[notLeadingHeader] === undefined) return undefined;
  for (const name of [forwardedHeader, notLeadingHeader]) {
    delete headers[name];
    for (let i = rawHeaders.length - 2; i >= 0; i -= 2) {
      if (rawHeaders[i]!.toLowerCase() === name) rawHeaders.splice(i, 2);
    }
  }
  const [, key, about] = form.exec(String(value)) ?? [];
  if (key === undefined || about === undefined) return undefined;
  try {
    const [remoteAddress, told] = JSON.parse(Buffer.from(about, "base64url").toString()) as [
      string,
      ForwardedInfo | null,
    ];
    return { key, remoteAddress, told: told ?? undefined };
  } catch {
    return undefined;
  }
}

/** Answers that nothing was done, since another process leads, or will in a moment. `name`: that of the listener. */
export function respondNotLeading(
  request: IncomingMessage,
  response: ServerResponse,
  name: string,
  forwarded?: ForwardedRequest,
): void {
  const message = "Another process leads this state, or is about to. Nothing was changed. Retry the request.";
  const headers = [notLeadingHeader, forwarded?.key ?? "1", "retry-after", "1"];
  refuse(request, response, { name, code: "not_leading", message, headers });
}

/** Answers that the leader ended before it had answered. Sent again, it might be done twice. */
export function respondOutcomeUnknown(request: IncomingMessage, response: ServerResponse, name: string): void {
  const message = "The leader of this state ended before it responded. The outcome is unknown. Check before you retry.";
  refuse(request, response, { name, code: "uncertain", message, headers: [] });
}

interface Refusal {
  readonly name: string;
  readonly code: string;
  readonly message: string;
  readonly headers: readonly string[];
}

/** As the listener words its failures: both services have them in one form, the control plane in its own. */
function refuse(request: IncomingMessage, response: ServerResponse, { name, code, message, headers }: Refusal): void {
  if (response.destroyed) return;
  const isControl = name === "router" && request.url?.startsWith("/_emulator/");
  const body = JSON.stringify(isControl ? { error: { code, message } } : { detail: message });
  const json = ["content-type", "application/json", "content-length", String(Buffer.byteLength(body))];
  response.writeHead(503, [...noSniffHeader, ...headers, ...json]).end(body);
}
