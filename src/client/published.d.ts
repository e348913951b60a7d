// Published types of svc-toolkit/client, which the code also imports. `npm run build` generates the types of the
// operations (src/derive/operation-types.ts). Programs compile against them without a schema library.
import type { Operations } from "./operations.d.ts";

export type { Operations };
export type OperationId = keyof Operations;
export type ArgumentsOf<Id extends OperationId> = Operations[Id]["args"];
export type ResultOf<Id extends OperationId> = Operations[Id]["result"];

/** IDs of all operations, in the order of the specification. */
export const operationIds: readonly OperationId[];

/** Credentials of a client. Each operation uses only the credentials that it needs. */
export interface Credentials {
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** Keys by cluster ID. The client sends the key of the cluster in the call. */
  readonly clusterKeys?: Readonly<Record<string, string>> | undefined;
  /** Key for calls without a cluster and for clusters without their own key. */
  readonly clusterKey?: string | undefined;
  readonly basic?: { readonly username: string; readonly password: string } | undefined;
  readonly bearer?: string | undefined;
  /** Token of an emulator's control plane. */
  readonly controlToken?: string | undefined;
}

export interface BaseUrls {
  readonly router?: string | undefined;
  readonly contracts?: string | undefined;
  /** URL of the routing service, for the control plane below /_emulator. */
  readonly emulator?: string | undefined;
}

export interface ClientOptions {
  readonly baseUrls: BaseUrls;
  readonly credentials?: Credentials;
  /**
   * Maximum milliseconds per attempt: for the whole response if it is read into memory, otherwise for its start.
   * Default: 30,000.
   */
  readonly timeoutMs?: number;
  /** Maximum size of a response in bytes. Default: 256 MiB if it is read into memory, 16 GiB if it is streamed. */
  readonly maxResponseBytes?: number | undefined;
  /** Maximum number of retries of calls that are safe to repeat. Default: 3. */
  readonly retries?: number;
  /**
   * Maximum milliseconds of a wait before a retry. If the service requests a longer wait, RetryAfterTooLongError is
   * thrown. Default: 60,000.
   */
  readonly maxWaitMs?: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Also retries a POST, for calls that are safe to repeat. */
  readonly repeatable?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  /**
   * Maximum silence of a stream in milliseconds; 0 is unlimited. By default, a stream must deliver at least 1 KiB a
   * second within timeoutMs.
   */
  readonly silenceMs?: number | undefined;
  /**
   * Called when a stream skips events because the program reads too slowly. By default the stream continues silently.
   */
  readonly onMissed?: ((count: number | undefined) => void) | undefined;
  readonly retries?: number | undefined;
  /** Absolute signed URL of a storage call, such as `upload_url` of files.initialize. */
  readonly url?: string | undefined;
  /** Media type of a raw or streamed body. For a signed URL, the media type of its request. */
  readonly contentType?: string | undefined;
  readonly contentLength?: number | undefined;
}

/** Success with its whole response. */
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
  /** Returns the value of a successful response. Throws for any other response. */
  call<Id extends OperationId>(id: Id, ...rest: Arguments<Id>): Promise<ResultOf<Id>>;
  /** Returns a success with status, headers and the differences from the declaration. Throws for any other response. */
  send<Id extends OperationId>(id: Id, ...rest: Arguments<Id>): Promise<ApiResponse<ResultOf<Id>>>;
  close(): Promise<void>;
}

/**
 * Creates a client for one set of base URLs and credentials. Close the client when done. At least one base URL is
 * required. Throws a TypeError for an option that is misspelled or missing.
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
 * Thrown when the service rejects the request with an error status. The message names the call: `contracts.status: 404
 * Not found. (GET /api/v2.1/public/contracts/T-9/status)`.
 */
export class ServiceError extends Error {
  private constructor();
  readonly operation: string;
  readonly method: string;
  /** Path without a query and without secrets. */
  readonly path: string;
  readonly status: number;
  readonly problem: Problem;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
  /** True if the service may have processed the request, so that sending it again could repeat its effect. */
  readonly outcomeUnknown: boolean;
}

/** Thrown when no complete response arrives. */
export class NetworkError extends Error {
  protected constructor();
  readonly origin: string;
  readonly code: string;
  /** True if the service may have processed the request, so that sending it again could repeat its effect. */
  readonly outcomeUnknown: boolean;
}

/** Thrown when the response is too large: an endless body, or too many headers. Nothing was stored. */
export class ResponseTooLargeError extends NetworkError {
  private constructor();
  /** Whether a larger maxResponseBytes would help. */
  readonly adjustable: boolean;
}

/** Thrown when the service requests a longer wait than the caller allows. */
export class RetryAfterTooLongError extends Error {
  private constructor();
  readonly retryAfterMs: number;
}

/** Thrown when the caller's arguments do not match the declaration. No request was sent. */
export class InvalidArgumentsError extends Error {
  private constructor();
  readonly problems: readonly {
    readonly in: "params" | "query" | "headers" | "body";
    readonly path: readonly (string | number)[];
    readonly message: string;
    readonly missing: boolean;
  }[];
}

/** Thrown when the credentials that the operation needs are missing. No request was sent. */
export class MissingCredentialsError extends Error {
  private constructor();
  readonly needs: "api-key" | "basic" | "bearer" | "control-token";
}

/** Thrown when the body of a success does not match the declaration: HTML, broken JSON. */
export class InvalidResponseError extends Error {
  private constructor();
  readonly status: number;
}

/** Thrown when the routing service matches the call to its catch-all, which means that the path is misspelled. */
export class MisroutedRequestError extends Error {
  private constructor();
  readonly sent: string;
  readonly declared: string;
}
