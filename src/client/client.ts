import { Readable } from "node:stream";
import type { ArgumentsOf, CallableOperation, Operation, ResultOf } from "../api/operation.ts";
import { systemWallClock, type WallClock } from "../base/clock.ts";
import { type CallArguments, CheckedCall } from "./checked-call.ts";
import type { ReadMode } from "./limits.ts";
import { type PlannedRetry, retriedStatuses, withRetries } from "./network-failure.ts";
import type { CallOptions, ClientOptions as PublishedOptions } from "./published.d.ts";
import { buildRequest, type HttpRequest, type HttpResponse, isIdempotent } from "./request.ts";
import { type ApiResponse, getReadMode, readResponse, requireValidValue } from "./response.ts";
import type { Transport } from "./transport.ts";

export interface ExchangeObserver {
  readonly onRequest?: (request: HttpRequest) => void;
  readonly onResponse?: (request: HttpRequest, response: HttpResponse, durationMs: number) => void;
  readonly onRetry?: (request: HttpRequest, retry: PlannedRetry) => void;
  /** Called for a success that differs from its declaration. */
  readonly onDrift?: (operationId: string, drift: readonly string[]) => void;
}

export interface ClientOptions extends Omit<PublishedOptions, "maxResponseBytes"> {
  /** Transport of the requests, closed with the client. The caller loads its library, and only if a request is sent. */
  readonly transport: Transport;
  readonly wall?: WallClock;
  /** Aborts each call that has no signal of its own. */
  readonly signal?: AbortSignal | undefined;
  readonly observer?: ExchangeObserver;
  /**
   * Makes `call` throw InvalidResponseError if a declared field is unreadable. By default values are returned
   * unchanged.
   */
  readonly readable?: boolean;
  /**
   * Headers of the trace that contains all calls (W3C Trace Context). Signed URLs of other services do not get these
   * headers.
   */
  readonly tracing?: Readonly<Record<string, string>> | undefined;
}

interface SendOptions extends CallOptions {
  /**
   * Loads the declaration for a success with these headers if the call has no schemas. The response is not compared if
   * the result is undefined.
   */
  readonly declaration?: ((headers: HttpResponse["headers"]) => Promise<CallableOperation> | undefined) | undefined;
  /** Returns numbers that a double would change as ExactNumber, for values that are only printed. */
  readonly exactNumbers?: boolean | undefined;
}

type CallParameters<O extends Operation> =
  Record<never, never> extends ArgumentsOf<O>
    ? [args?: ArgumentsOf<O>, options?: CallOptions]
    : [args: ArgumentsOf<O>, options?: CallOptions];

/** Calls declared operations. Create one client per set of base URLs and credentials, and close it when done. */
export interface Client {
  /** Returns the value of a success. Throws for any other response (src/client/errors.ts). */
  call<O extends Operation>(operation: O, ...rest: CallParameters<O>): Promise<ResultOf<O>>;
  /** Returns a success with status, headers and drift. Throws for any other response. */
  send(call: CheckedCall, options?: SendOptions): Promise<ApiResponse>;
  /**
   * Sends a request unchanged, with retries and without checks. Without `chooseReadMode`, the response is read into
   * memory.
   */
  exchange(
    request: HttpRequest,
    options?: CallOptions,
    chooseReadMode?: (status: number) => ReadMode,
  ): Promise<HttpResponse>;
  close(): Promise<void>;
}

export function createClient(options: ClientOptions): Client {
  const { baseUrls, credentials = {}, wall = systemWallClock, observer = {}, transport, tracing } = options;
  const { retries = 3, maxWaitMs = 60_000, timeoutMs: defaultTimeoutMs = 30_000 } = options;

  const closing = new AbortController();
  const pauses: WallClock = {
    now: () => wall.now(),
    monotonicNow: () => wall.monotonicNow(),
    sleep: (ms, signal) => wall.sleep(ms, signal ? AbortSignal.any([signal, closing.signal]) : closing.signal),
  };

  const addTraceHeaders = (request: HttpRequest): HttpRequest =>
    tracing === undefined ? request : { ...request, headers: { ...tracing, ...request.headers } };

  async function exchange(
    request: HttpRequest,
    call: CallOptions = {},
    chooseReadMode?: (status: number) => ReadMode,
  ): Promise<HttpResponse> {
    const repeatable = isRepeatable(request.method, call);
    const signal = call.signal ?? options.signal;
    const sendOnce = async () => {
      const startedAt = wall.monotonicNow();
      observer.onRequest?.(request);
      const response = await transport.send(request, {
        timeoutMs: call.timeoutMs ?? defaultTimeoutMs,
        silenceMs: call.silenceMs,
        chooseReadMode,
        repeatable,
        signal,
      });
      observer.onResponse?.(request, response, wall.monotonicNow() - startedAt);
      const isWhole = (chooseReadMode?.(response.status) ?? "whole") === "whole";
      if (!repeatable || !isWhole || retriedStatuses.has(response.status)) return response;
      // A response that ends too early is a failure of the attempt, like one that never begins.
      const chunks: Uint8Array[] = [];
      for await (const chunk of response.body) chunks.push(chunk);
      return { ...response, body: Readable.from(chunks) };
    };
    const rule = { retries: isReadOnce(request.body) ? 0 : (call.retries ?? retries), maxWaitMs };
    return withRetries(sendOnce, rule, pauses, {
      signal,
      repeatable,
      onRetry: (retry) => observer.onRetry?.(request, retry),
    });
  }

  async function send(call: CheckedCall, sendOptions: SendOptions = {}): Promise<ApiResponse> {
    const { operation } = call;
    const builtRequest = buildRequest(call, baseUrls, credentials, sendOptions);
    const request = operation.service.name === "storage" ? builtRequest : addTraceHeaders(builtRequest);
    const chooseReadMode = (status: number) => getReadMode(operation, status);
    const timeoutMs = sendOptions.timeoutMs ?? options.timeoutMs ?? operation.maxDurationMs;
    const response = await exchange(request, { ...sendOptions, timeoutMs }, chooseReadMode);
    const repeatable = isRepeatable(request.method, sendOptions);
    const declaration = response.status < 400 ? await sendOptions.declaration?.(response.headers) : undefined;
    const apiResponse = await readResponse(declaration ?? operation, request, response, { ...sendOptions, repeatable });
    if (apiResponse.drift.length > 0) observer.onDrift?.(operation.id, apiResponse.drift);
    return apiResponse;
  }

  return {
    exchange: (request, ...rest) => exchange(addTraceHeaders(request), ...rest),
    send,
    async call(operation, ...[args, callOptions]) {
      const response = await send(CheckedCall.check(operation, args as CallArguments | undefined), callOptions);
      return (options.readable ? requireValidValue(response) : response.value) as ResultOf<typeof operation>;
    },
    close() {
      closing.abort("closed");
      return transport.close();
    },
  };
}

const isRepeatable = (method: string, { repeatable }: CallOptions): boolean =>
  isIdempotent(method) || repeatable === true;

const isReadOnce = (body: HttpRequest["body"]): boolean => typeof body === "object" && !ArrayBuffer.isView(body);
