// The published types of svc-toolkit/client, which the code imports too. `npm run build` writes out those of the operations
// (src/derive/operation-types.ts), so that no schema library is needed to compile against them.
import type { Operations } from "./operations.d.ts";

export type { Operations };
export type OperationId = keyof Operations;
export type ArgumentsOf<Id extends OperationId> = Operations[Id]["args"];
export type ResultOf<Id extends OperationId> = Operations[Id]["result"];

/** The ids of all operations, in the order of the specification. */
export const operationIds: readonly OperationId[];

/** Credentials of a client. Each operation uses only those that it needs. */
export interface Credentials {
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** Keys by cluster id. The key of the cluster in the call is sent. */
  readonly clusterKeys?: Readonly<Record<string, string>> | undefined;
  /** For calls without a cluster, or for clusters without their own key. */
  readonly clusterKey?: string | undefined;
  readonly basic?: { readonly username: string; readonly password: string } | undefined;
  readonly bearer?: string | undefined;
  /** Token of an emulator's control plane. */
  readonly controlToken?: string | undefined;
}

export interface BaseUrls {
  readonly router?: string | undefined;
  readonly contracts?: string | undefined;
  /** The routing service's URL, for the control plane below /_emulator. */
  readonly emulator?: string | undefined;
}

export interface ClientOptions {
  readonly baseUrls: BaseUrls;
  readonly credentials?: Credentials;
  /** Per attempt: for the whole response if it is held in memory, otherwise for its start; default 30,000. */
  readonly timeoutMs?: number;
  /** The largest response that is read. Default: 256 MiB if it is held in memory, 16 GiB if it is streamed. */
  readonly maxAnswerBytes?: number | undefined;
  /** Retries of calls that are safe to repeat; default 3. */
  readonly retries?: number;
  /**
   * The longest single wait before a retry. If the service asks for more, RetryAfterTooLongError is thrown. Default
   * 60,000.
   */
  readonly maxWaitMs?: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Also retries a POST, for calls that are safe to repeat. */
  readonly repeatable?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  /**
   * How long a stream may be silent; 0: forever. By default, it must deliver at least 1 KiB a second within timeoutMs.
   */
  readonly silenceMs?: number | undefined;
  /**
   * Called when a stream of events skipped some because they were read too slowly. By default the stream continues
   * silently.
   */
  readonly onMissed?: ((count: number | undefined) => void) | undefined;
  readonly retries?: number | undefined;
  /** The absolute signed URL of a storage call, such as `upload_url` of files.initialize. */
  readonly url?: string | undefined;
  /** Media type of a raw or streamed body. For a signed URL, the one that it was requested with. */
  readonly contentType?: string | undefined;
  readonly contentLength?: number | undefined;
}

/** A success with its whole response. */
export interface ApiResponse<Value> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly value: Value;
  /** Differences of status or body from the declaration that do not affect the success: `status 200 instead of 201`. */
  readonly drift: readonly string[];
}

type Arguments<Id extends OperationId> = Id extends `storage.${string}`
  ? [args: ArgumentsOf<Id>, options: CallOptions & { readonly url: string }]
  : Record<never, never> extends ArgumentsOf<Id>
    ? [args?: ArgumentsOf<Id>, options?: CallOptions]
    : [args: ArgumentsOf<Id>, options?: CallOptions];

export interface Client {
  /** Returns the value of a successful response. Throws for any other. */
  call<Id extends OperationId>(id: Id, ...rest: Arguments<Id>): Promise<ResultOf<Id>>;
  /** The same, with status, headers and the differences from the declaration. */
  send<Id extends OperationId>(id: Id, ...rest: Arguments<Id>): Promise<ApiResponse<ResultOf<Id>>>;
  close(): Promise<void>;
}

/**
 * A client for one set of base URLs and credentials. Close it when done. At least one base URL is required. Throws a
 * TypeError for an option that is misspelled or missing.
 */
export function createClient(options: ClientOptions): Client;

/** Contents of an error response in any shape. */
export interface Problem {
  readonly code: string | undefined;
  readonly message: string;
  readonly hint: string | undefined;
  readonly fields: readonly string[];
}

/**
 * The service rejected the request with an error status. The message names the call: `contracts.status: 404 Not found.
 * (GET /api/v2.1/public/contracts/T-9/status)`.
 */
export class ServiceError extends Error {
  private constructor();
  readonly operation: string;
  readonly method: string;
  /** Without a query, and without secrets. */
  readonly path: string;
  readonly status: number;
  readonly problem: Problem;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  /** The request may have been processed, and sending it again could repeat its effect. */
  readonly outcomeUnknown: boolean;
}

/** No complete response came. */
export class NetworkError extends Error {
  protected constructor();
  readonly origin: string;
  readonly code: string;
  /** The request was sent and may have been processed. Sending it again could repeat its effect. */
  readonly outcomeUnknown: boolean;
}

/** The response is too large: an endless body, or a flood of headers. Nothing was stored. */
export class ResponseTooLargeError extends NetworkError {
  private constructor();
  /** Whether a larger maxAnswerBytes would help. */
  readonly adjustable: boolean;
}

/** The service asks for a longer wait than the caller allows. */
export class RetryAfterTooLongError extends Error {
  private constructor();
  readonly retryAfterMs: number;
}

/** The caller's arguments do not match the declaration. Nothing was sent. */
export class InvalidArgumentsError extends Error {
  private constructor();
  readonly problems: readonly {
    readonly in: "params" | "query" | "headers" | "body";
    readonly path: readonly (string | number)[];
    readonly message: string;
    readonly missing: boolean;
  }[];
}

/** The credentials that the operation needs are missing. Nothing was sent. */
export class MissingCredentialsError extends Error {
  private constructor();
  readonly needs: "api-key" | "basic" | "bearer" | "control-token";
}

/** A success whose body does not match the declaration: HTML, broken JSON. */
export class InvalidResponseError extends Error {
  private constructor();
  readonly status: number;
}

/** The routing service matched the call to its catch-all, so the path was misspelled. */
export class MisroutedRequestError extends Error {
  private constructor();
  readonly sent: string;
  readonly declared: string;
}
