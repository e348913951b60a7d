import type { ArgumentsOf, Operation, ResultOf } from "../api/operation.ts";
import { getOperationById, type OperationById, type OperationId, registry } from "../api/registry.ts";
import { isAsyncIterable } from "../base/object.ts";
import { formatSuggestion } from "../base/text.ts";
import { type CallArguments, CheckedCall } from "./checked-call.ts";
import { createClient as createDeclaredClient } from "./client.ts";
import { addOperationToError, InvalidArgumentsError, mapStreamErrors } from "./errors.ts";
import type { BaseUrls, CallOptions, ClientOptions, Credentials } from "./published.d.ts";
import type { ApiResponse } from "./response.ts";
import { createTransport } from "./transport.ts";

export const operationIds: readonly OperationId[] = registry.map(({ id }) => id);

type AllKeys<T> = Readonly<Record<keyof T, true>>;

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
 * Creates a client for programs: for one set of base URLs and credentials, with operations by ID. The published types
 * need no schema library. Close the client when done. Throws a TypeError for an option that is misspelled or missing.
 */
export function createClient(options: ClientOptions) {
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
    /** Returns the value of a success. Throws for any other response. */
    call: async <Id extends OperationId>(id: Id, args?: ArgumentsOf<OperationById<Id>>, call?: CallOptions) =>
      (await send(id, args, call)).value as ResultOf<OperationById<Id>>,
    /** Returns a success with status, headers and drift. Throws for any other response. */
    send: <Id extends OperationId>(id: Id, args?: ArgumentsOf<OperationById<Id>>, call?: CallOptions) =>
      send(id, args, call) as Promise<ApiResponse<ResultOf<OperationById<Id>>>>,
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

/** Rejects a misspelled name, which would have no effect. Throws a TypeError that suggests the nearest name. */
function checkNames<T extends object>(values: T | undefined, knownKeys: AllKeys<T>, path: string): void {
  const names = Object.keys(knownKeys);
  const unknownName = Object.keys(values ?? {}).find((name) => !names.includes(name));
  if (unknownName !== undefined)
    throw new TypeError(`${path}: unknown option "${unknownName}". ${formatSuggestion(unknownName, names)}`);
}

/** Rejects base URLs if none belongs to a service. Throws a TypeError. */
function checkUrls(baseUrls: Readonly<Record<string, unknown>>, path: string, names: readonly string[]): void {
  const urls = Object.entries(baseUrls).filter(([, url]) => url !== undefined);
  if (urls.length === 0) throw new TypeError(`${path}: at least one of ${names.join(", ")} is required`);
  for (const [name, url] of urls) {
    if (typeof url !== "string" || !/^https?:\/\/./.test(url) || !URL.canParse(url))
      throw new TypeError(`${path}.${name} must be an http:// or https:// URL`);
    const { username, password } = new URL(url);
    if (/[?#\s]/.test(url) || username !== "" || password !== "")
      throw new TypeError(`${path}.${name} must be a URL without credentials, query, fragment and spaces`);
  }
}

function checkAmounts(limits: Readonly<Record<string, unknown>>, path: string): void {
  for (const [name, amount] of Object.entries(limits)) {
    if (amount !== undefined && !(typeof amount === "number" && amount >= 0))
      throw new TypeError(`${path}: ${name} must be a number, 0 or more`);
  }
}
