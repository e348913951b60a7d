import { Agent, errors } from "undici";
import type { Cause } from "../../store/cause.ts";
import type { ReceivedRequest } from "../handler.ts";
import type { Passthrough } from "../reply.ts";
import { originForm } from "../routing/path.ts";
import { ForwardExchange } from "./forward-exchange.ts";
import { linkOf, type RequestLinks } from "./links.ts";

/** What of a received request is sent on. */
export type Forwardable = Pick<
  ReceivedRequest,
  "method" | "target" | "rawHeaders" | "body" | "remoteAddress" | "origin"
> & {
  /** Why it is sent: told to the listeners of this emulator, and to nobody else. */
  readonly cause?: Cause | undefined;
};

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

/** The reason to break off with. One for all: a default one is made anew, with its stack, for each request. */
export const nobodyWaits = new Error("Nobody waits for the answer any more");

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

/** What tells the next server by whom, and for whom, a request is sent on; made anew by each proxy. */
const ours = new Set(["via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"]);

interface ForwarderOptions {
  /** The pseudonym in `via` by which the forwarder knows its own requests again. */
  readonly mark: string;
  /** Undefined: nobody who receives them is to know what led to them. */
  readonly links?: RequestLinks;
}

export function createForwarder({ mark, links }: ForwarderOptions): Forwarder {
  const agent = new Agent({ connections: 256, pipelining: 1, connect: { timeout: 10_000 } });
  return {
    send(url, request, signal) {
      const base = new URL(url);
      const path = `${base.pathname.replace(/\/$/, "")}${originForm(request.target) ?? "/"}`;
      const headers = headersToSend(request, mark);
      const link = request.cause && links?.offer(base.origin, request.cause);
      if (link !== undefined) headers.push(...linkOf(link));
      const body = request.body.length > 0 ? request.body : null;
      return new Promise((resolve) => {
        const exchange = new ForwardExchange((forwarded) => {
          if (link !== undefined) links?.end(link);
          if ("answer" in forwarded) resolve({ kind: "answered", ...forwarded });
          else resolve({ kind: "unreachable", reason: reasonOf(forwarded.cause) });
        });
        signal?.addEventListener("abort", () => exchange.breakOff(signal.reason), { once: true });
        agent.dispatch({ origin: base.origin, path, method: request.method as "GET", headers, body }, exchange);
      });
    },
    isOwn: ({ headers }) => headers.via?.split(",").some((hop) => hop.trim().split(/\s+/)[1] === mark) ?? false,
    close: () => agent.destroy(),
  };
}

function headersToSend({ rawHeaders, remoteAddress, origin }: Forwardable, mark: string): string[] {
  const names = rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase());
  const valuesOf = (wanted: string) => names.flatMap((name, i) => (name === wanted && rawHeaders[2 * i + 1]) || []);
  const ofConnection = valuesOf("connection")
    .flatMap((value) => value.split(","))
    .map((name) => name.trim().toLowerCase());
  const sent: string[] = [];
  for (const [i, name] of names.entries()) {
    if (hopByHop.has(name) || ours.has(name) || ofConnection.includes(name)) continue;
    sent.push(rawHeaders[2 * i]!, rawHeaders[2 * i + 1]!);
  }
  sent.push("via", [...valuesOf("via"), `1.1 ${mark}`].join(", "));
  sent.push("x-forwarded-for", [...valuesOf("x-forwarded-for"), remoteAddress].join(", "));
  // A proxy in front of us knows better which host and scheme the caller spoke to.
  const [host = origin.slice(origin.indexOf("//") + 2)] = [...valuesOf("x-forwarded-host"), ...valuesOf("host")];
  const [protocol = origin.slice(0, origin.indexOf(":"))] = valuesOf("x-forwarded-proto");
  sent.push("x-forwarded-host", host, "x-forwarded-proto", protocol);
  return sent;
}

function reasonOf(error: unknown): string {
  if (error instanceof errors.UndiciError) return error.code;
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}
