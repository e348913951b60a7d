import { Agent, errors } from "undici";
import type { ReceivedRequest } from "../handler.ts";
import { Passthrough } from "../reply.ts";
import { originForm } from "../routing/path.ts";

/** What of a received request is sent on. */
export type Forwardable = Pick<
  ReceivedRequest,
  "method" | "target" | "rawHeaders" | "body" | "remoteAddress" | "origin"
>;

/** What came of sending one request to one server. `reason` is a code such as ECONNREFUSED. */
export type Sent =
  | { readonly kind: "answered"; readonly answer: Passthrough }
  | { readonly kind: "unreachable"; readonly reason: string };

/** Sends received requests on to other servers, over real HTTP. */
export interface Forwarder {
  /**
   * Sends method, target, headers and body unchanged (hop-by-hop headers aside; `via` and `x-forwarded-*` added) and
   * resolves with the head of the answer; its body is streamed. Redirects are not followed. Never rejects.
   */
  send(url: string, request: Forwardable, signal?: AbortSignal): Promise<Sent>;
  /** Whether this forwarder sent the request itself: somewhere a URL points back at the sender. */
  isOwn(request: Pick<ReceivedRequest, "headers">): boolean;
  /** Ends all connections, those in use too. */
  close(): Promise<void>;
}

/** RFC 9110, 7.6.1, and what belongs to one connection or one message framing alone. */
const hopByHop = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  // undici refuses it; the body is whole already.
  "expect",
  // Counted anew from the body, which a GET leaves behind.
  "content-length",
  // That of the receiver; the caller's goes into x-forwarded-host.
  "host",
]);

/** `mark`: the pseudonym in `via` by which the forwarder knows its own requests again. */
export function createForwarder({ mark }: { readonly mark: string }): Forwarder {
  const agent = new Agent({ connections: 256, pipelining: 1, connect: { timeout: 10_000 } });
  return {
    async send(url, request, signal) {
      const base = new URL(url);
      try {
        const { statusCode, headers, body } = await agent.request({
          origin: base.origin,
          path: `${base.pathname.replace(/\/$/, "")}${originForm(request.target) ?? "/"}`,
          method: request.method as "GET",
          headers: headersToSend(request, mark),
          body: request.body.length > 0 ? request.body : null,
          responseHeaders: "raw",
          ...(signal && { signal }),
        });
        // With responseHeaders: "raw" undici gives the flat list that its types do not mention.
        return { kind: "answered", answer: new Passthrough(statusCode, headers as unknown as string[], body) };
      } catch (error) {
        return { kind: "unreachable", reason: reasonOf(error) };
      }
    },
    isOwn: ({ headers }) => headers.via?.split(",").some((hop) => hop.trim().split(/\s+/)[1] === mark) ?? false,
    close: () => agent.destroy(),
  };
}

function headersToSend({ rawHeaders, remoteAddress, origin }: Forwardable, mark: string): string[] {
  const dropped = new Set(hopByHop);
  for (const token of valuesOf(rawHeaders, "connection").join(",").split(",")) dropped.add(token.trim().toLowerCase());
  const ours = ["via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"];
  for (const name of ours) dropped.add(name);

  const sent: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!dropped.has(rawHeaders[i]!.toLowerCase())) sent.push(rawHeaders[i]!, rawHeaders[i + 1]!);
  }
  const first = (name: string) => valuesOf(rawHeaders, name)[0];
  sent.push("via", [...valuesOf(rawHeaders, "via"), `1.1 ${mark}`].join(", "));
  sent.push("x-forwarded-for", [...valuesOf(rawHeaders, "x-forwarded-for"), remoteAddress].join(", "));
  // A proxy in front of us knows better which host and scheme the caller spoke to.
  sent.push("x-forwarded-host", first("x-forwarded-host") ?? first("host") ?? origin.slice(origin.indexOf("//") + 2));
  sent.push("x-forwarded-proto", first("x-forwarded-proto") ?? origin.slice(0, origin.indexOf(":")));
  return sent;
}

function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]!.toLowerCase() === name && rawHeaders[i + 1]) values.push(rawHeaders[i + 1]!);
  }
  return values;
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.UndiciError) return error.code;
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
