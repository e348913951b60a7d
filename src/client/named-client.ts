import type { ArgumentsOf, Operation, ResultOf } from "../api/operation.ts";
import {
  type AnyOperation,
  getOperationById,
  type OperationById,
  type OperationId,
  registry,
} from "../api/registry.ts";
import { type CallArguments, CheckedCall } from "./checked-call.ts";
import { type AllKeys, checkAmounts, checkNames, checkUrls, createClient as createDeclaredClient } from "./client.ts";
import { addOperationToError, InvalidArgumentsError, mapStreamErrors } from "./errors.ts";
import type { BaseUrls, CallOptions, ClientOptions, Credentials } from "./published.d.ts";
import type { ApiResponse } from "./response.ts";
import { createTransport } from "./transport.ts";

export const operationIds: readonly OperationId[] = (registry as readonly AnyOperation[]).map(({ id }) => id);

/** Public interface for programs. Operations are called by ID, and the published types need no schema library. */
export interface NamedClient {
  /** Returns the value of a success. Throws for any other response. */
  call<Id extends OperationId>(
    id: Id,
    args?: ArgumentsOf<OperationById<Id>>,
    options?: CallOptions,
  ): Promise<ResultOf<OperationById<Id>>>;
  /** Returns a success with status, headers and the differences from the declaration. Throws for any other response. */
  send<Id extends OperationId>(
    id: Id,
    args?: ArgumentsOf<OperationById<Id>>,
    options?: CallOptions,
  ): Promise<ApiResponse<ResultOf<OperationById<Id>>>>;
  close(): Promise<void>;
}

const optionNames: AllKeys<ClientOptions> = {
  baseUrls: true,
  credentials: true,
  timeoutMs: true,
  retries: true,
  maxWaitMs: true,
  maxResponseBytes: true,
};
const baseUrlNames: AllKeys<BaseUrls> = { router: true, contracts: true, emulator: true };
const credentialNames: AllKeys<Credentials> = {
  clientId: true,
  clientSecret: true,
  clusterKeys: true,
  clusterKey: true,
  basic: true,
  bearer: true,
  controlToken: true,
};

const argumentNames: AllKeys<CallArguments> = { params: true, query: true, headers: true, body: true };
const callNames: AllKeys<CallOptions> = {
  signal: true,
  repeatable: true,
  timeoutMs: true,
  silenceMs: true,
  onMissed: true,
  retries: true,
  url: true,
  contentType: true,
  contentLength: true,
};

/**
 * Creates a client for one set of base URLs and credentials. Close the client when done. Throws a TypeError for an
 * option that is misspelled or missing.
 */
export function createClient(options: ClientOptions): NamedClient {
  checkNames(options, optionNames, "createClient");
  const { baseUrls, credentials, maxResponseBytes, timeoutMs, retries, maxWaitMs } = options ?? {};
  checkNames(baseUrls, baseUrlNames, "createClient: baseUrls");
  checkUrls({ ...baseUrls }, "createClient: baseUrls", Object.keys(baseUrlNames));
  checkNames(credentials, credentialNames, "createClient: credentials");
  checkAmounts({ maxResponseBytes, timeoutMs, retries, maxWaitMs }, "createClient");
  const client = createDeclaredClient({ ...options, transport: createTransport({ maxResponseBytes }) });
  let isClosed = false;

  async function send(id: string, argument: unknown, call: CallOptions | undefined): Promise<ApiResponse> {
    const operation: Operation = getOperationById(id);
    const args = argument as CallArguments | undefined;
    checkNames(args, argumentNames, id);
    checkNames(call, callNames, `${id}: the options of a request`);
    rejectUndeclaredArguments(operation, args);
    const service = operation.service.name;
    if (service === "storage") {
      if (call?.url === undefined) throw new TypeError(`${id} requires the option url: the signed URL`);
    } else if (baseUrls[service] === undefined)
      throw new TypeError(`${id} requires the option baseUrls.${service} of createClient`);
    const checkedCall = CheckedCall.check(operation, args);
    const createClosedError = () => new Error(`${id}: the client is closed. Send requests before client.close()`);
    if (isClosed) throw createClosedError();
    const response = await client.send(checkedCall, call).catch((error: unknown) => {
      throw isClosed ? createClosedError() : addOperationToError(id, error);
    });
    return isAsyncIterable(response.value)
      ? { ...response, value: mapStreamErrors(response.value, (error) => addOperationToError(id, error)) }
      : response;
  }

  return {
    call: async (id, args, call) => (await send(id, args, call)).value as ResultOf<OperationById<typeof id>>,
    send: (id, args, call) => send(id, args, call) as Promise<ApiResponse<ResultOf<OperationById<typeof id>>>>,
    close() {
      isClosed = true;
      return client.close();
    },
  };
}

/** Rejects undeclared arguments, which would be ignored. Throws InvalidArgumentsError. */
function rejectUndeclaredArguments({ id, request }: Operation, args: CallArguments = {}): void {
  const parts = Object.keys(argumentNames) as (keyof CallArguments)[];
  const problems = parts
    .filter((part) => request[part] === undefined && !isEmptyArgument(args[part]))
    .map((part) => ({ in: part, path: [], message: "the operation accepts none", missing: false }));
  if (problems.length > 0) throw new InvalidArgumentsError(id, problems);
}

const isEmptyArgument = (argument: unknown): boolean =>
  argument === undefined || argument === null || (typeof argument === "object" && Object.keys(argument).length === 0);

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;
