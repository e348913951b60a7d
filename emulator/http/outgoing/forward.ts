import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { WallClock } from "../../../src/base/clock.ts";
import { timedOut, withTimeout } from "../../../src/base/timing.ts";
import type { Cause } from "../../store/port.ts";
import { BodyTooLargeError, concatBody } from "../bodies/decode.ts";
import type { ReceivedRequest } from "../handler.ts";
import { filterEndToEndHeaders, isEmulatorHeader, removeHeaders, setRequestHeader } from "../hop-by-hop.ts";
import { createAgent, type PendingForward, startForward } from "./dispatch.ts";

export type ForwardableRequest = Pick<
  ReceivedRequest,
  "method" | "target" | "rawHeaders" | "body" | "remoteAddress" | "origin"
> & {
  /** Cause of the request. Only listeners of this emulator receive it. */
  readonly cause?: Cause | undefined;
};

interface ForwarderOptions {
  readonly wall: WallClock;
  /** Pseudonym in `via` by which the forwarder recognizes its own requests. */
  readonly pseudonym: string;
  /** Undefined if receivers must not get the cause. */
  readonly links?: CausePropagator;
}

export type Forwarder = ReturnType<typeof createForwarder>;

/** Creates a client that forwards received requests to other servers, over real HTTP. */
export function createForwarder({ wall, pseudonym, links }: ForwarderOptions) {
  const agent = createAgent({ timeout: 10_000 }, { connections: 256 });
  return {
    /** Sends a request unchanged, except hop-by-hop headers, `via` and `x-forwarded-*`. Follows no redirects. */
    send(url: string, request: ForwardableRequest): PendingForward {
      const base = new URL(url);
      const path = `${base.pathname.replace(/\/$/, "")}${request.target}`;
      const headers = createHeaders(request, pseudonym);
      const link = request.cause && links?.createLink(base.origin, request.cause);
      if (link) headers.push(...link.header);
      const { method } = request;
      const body = request.body.length > 0 ? request.body : null;
      const pendingForward = startForward(agent, { origin: base.origin, path, method, headers, body });
      if (link) void pendingForward.result.then(link.end);
      return pendingForward;
    },
    /** Returns `timedOut` if `work` takes longer than `ms` of wall-clock time. The work continues. */
    withTimeout: <T>(ms: number, work: Promise<T>) => withTimeout(wall, ms, work),
    /** Returns whether this forwarder sent the request itself, which happens if a URL points back at the sender. */
    isOwn: ({ headers }: Pick<ReceivedRequest, "headers">): boolean =>
      headers.via?.split(",").some((hop) => hop.trim().split(/\s+/)[1] === pseudonym) ?? false,
    close: () => agent.destroy(),
  };
}

/** Headers of one message framing, and headers that the forwarder sets itself. */
const replacedHeaders = new Set([
  // The body has already been received, and its length is computed again. A GET has no length.
  ...["expect", "content-length"],
  ...["host", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"],
]);

function createHeaders({ rawHeaders, remoteAddress, origin }: ForwardableRequest, pseudonym: string): string[] {
  const listValues = (name: string) =>
    rawHeaders.filter((value, i) => i % 2 === 1 && value !== "" && rawHeaders[i - 1]!.toLowerCase() === name);
  const [host = origin.slice(origin.indexOf("//") + 2)] = listValues("host");
  // A proxy in front of the emulator sends the host and scheme of the client.
  const [forwardedHost = host] = listValues("x-forwarded-host");
  const [protocol = origin.slice(0, origin.indexOf(":"))] = listValues("x-forwarded-proto");
  return [
    ...filterEndToEndHeaders(rawHeaders, (name) => replacedHeaders.has(name) || isEmulatorHeader(name)),
    ...["via", [...listValues("via"), `1.1 ${pseudonym}`].join(", ")],
    ...["x-forwarded-for", [...listValues("x-forwarded-for"), remoteAddress].join(", ")],
    ...["x-forwarded-host", forwardedHost, "x-forwarded-proto", protocol],
  ];
}

export const omitHeaders = (request: ForwardableRequest, names: readonly string[]): ForwardableRequest =>
  replaceParts(request, { rawHeaders: removeHeaders(request.rawHeaders, names) });

/** A received request has getters, which a spread skips. */
export const replaceParts = (
  { method, target, rawHeaders, body, remoteAddress, origin, cause }: ForwardableRequest,
  parts: Partial<ForwardableRequest>,
): ForwardableRequest => ({ method, target, rawHeaders, body, remoteAddress, origin, cause, ...parts });

/** Result of a request whose whole response is read. */
export type SendRequestResult =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly rawHeaders: readonly string[];
      readonly body: Buffer;
    }
  | { readonly kind: "unreachable"; readonly reason: string }
  | { readonly kind: "late" };

interface SendRequestOptions {
  readonly forwarder: Forwarder;
  /** Maximum time from sending the request to the last byte of the response. */
  readonly timeoutMs: number;
  /** Maximum size of the response. A longer response is a failure. */
  readonly maxBytes?: number;
  /** Adds a listener for the disconnect of the client. */
  readonly onDisconnect?: ((listener: () => void) => void) | undefined;
}

/** Sends a request to another server and reads the whole response within this wall-clock time. Never rejects. */
export async function sendRequest(
  { forwarder, timeoutMs, maxBytes, onDisconnect }: SendRequestOptions,
  url: string,
  request: ForwardableRequest,
): Promise<SendRequestResult> {
  const sending = forwarder.send(url, request);
  onDisconnect?.(() => sending.abort());
  const result = await forwarder.withTimeout(timeoutMs, exchange());
  if (result !== timedOut) return result;
  sending.abort();
  return { kind: "late" };

  async function exchange(): Promise<SendRequestResult> {
    const outcome = await sending.result;
    if (outcome.kind === "unreachable") return outcome;
    const { status, rawHeaders, body } = outcome.response;
    try {
      return { kind: "answered", status, rawHeaders, body: await concatBody(body, maxBytes) };
    } catch (error) {
      const reason = error instanceof BodyTooLargeError ? "the response is too long" : "the response was incomplete";
      return { kind: "unreachable", reason };
    }
  }
}

/** Header that names the cause of a request between listeners of this emulator. It never leaves the process. */
const linkHeader = "x-svc-link";

/** Cause of a request that another listener sent. */
export interface CauseLink {
  readonly cause: Cause;
  /** Returns whether the state of the request was replaced. It must not change the current state. */
  isStateReplaced(): boolean;
}

/**
 * Connects a request between two listeners of this emulator with its cause. Each link has a random name that is valid
 * for one request, so a header from outside has no effect.
 */
export class CausePropagator {
  readonly #ownOrigins = new Set<string>();
  readonly #openLinks = new Map<string, CauseLink>();
  readonly #secret = randomBytes(16).toString("hex");
  #lastNumber = 0;
  /** Number of state replacements. */
  #replacementCount = 0;

  /** Adds the origin of a listener of this emulator: `http://127.0.0.1:4011`. */
  add(origin: string): void {
    this.#ownOrigins.add(origin);
  }

  /** Creates the header for a request to an own origin, or undefined. `end` must be called after the request. */
  createLink(origin: string, cause: Cause): { readonly header: readonly string[]; end(): void } | undefined {
    if (!this.#ownOrigins.has(origin)) return undefined;
    this.#lastNumber += 1;
    const name = `${this.#secret}-${this.#lastNumber}`;
    const countAtCreation = this.#replacementCount;
    this.#openLinks.set(name, { cause, isStateReplaced: () => this.#replacementCount !== countAtCreation });
    return { header: [linkHeader, name], end: () => this.#openLinks.delete(name) };
  }

  /** Marks pending requests as abandoned, because another state replaces theirs. */
  abandon(): void {
    this.#replacementCount += 1;
    this.#openLinks.clear();
  }

  /** Returns whether a request was sent in a replaced state, or its sender has ended. */
  isAbandoned({ headers }: IncomingMessage): boolean {
    const name = String(headers[linkHeader]);
    return name.startsWith(`${this.#secret}-`) && !this.#openLinks.has(name);
  }

  /** Returns the cause of a received request and removes its header. */
  extractLink(request: IncomingMessage): CauseLink | undefined {
    const name = String(request.headers[linkHeader]);
    const link = this.#openLinks.get(name);
    if (!link) return undefined;
    setRequestHeader(request, linkHeader);
    this.#openLinks.delete(name);
    return link;
  }
}
