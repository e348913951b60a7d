import type { ArgumentsOf, Operation, ResultOf } from "../api/operation.ts";
import { type AnyOperation, type OperationById, type OperationId, operationById, registry } from "../api/registry.ts";
import { type CallArguments, CheckedCall } from "./checked-call.ts";
import { type CallOptions, type ClientOptions, createClient as createDeclaredClient } from "./client.ts";
import type { Credentials } from "./credentials.ts";
import { checkNames } from "./known-options.ts";
import type { BaseUrls } from "./request.ts";
import type { Answer } from "./response.ts";
import { createTransport } from "./transport.ts";

/** The ids of all operations, in the order of the specification. */
export const operationIds: readonly OperationId[] = (registry as readonly AnyOperation[]).map(({ id }) => id);

/** Calls operations by their ids: the door for programs, whose published types need no schema library. */
export interface NamedClient {
  /** The value of a success; everything else is thrown. */
  call<Id extends OperationId>(
    id: Id,
    args?: ArgumentsOf<OperationById<Id>>,
    options?: CallOptions,
  ): Promise<ResultOf<OperationById<Id>>>;
  /** The same with status, headers, and where the answer differs from the declaration. */
  send<Id extends OperationId>(
    id: Id,
    args?: ArgumentsOf<OperationById<Id>>,
    options?: CallOptions,
  ): Promise<Answer<ResultOf<OperationById<Id>>>>;
  close(): Promise<void>;
}

export interface NamedClientOptions
  extends Omit<ClientOptions, "transport" | "wall" | "observer" | "readable" | "traceparent"> {
  /** The largest answer that is read. Default: 256 MiB where it is held in memory, 16 GiB where it is streamed. */
  readonly maxAnswerBytes?: number | undefined;
}

type AllOf<T> = Readonly<Record<keyof T, true>>;

const optionNames: AllOf<NamedClientOptions> = {
  baseUrls: true,
  credentials: true,
  timeoutMs: true,
  retries: true,
  maxWaitMs: true,
  maxAnswerBytes: true,
};
const addressNames: AllOf<BaseUrls> = { router: true, contracts: true, emulator: true };
const credentialNames: AllOf<Credentials> = {
  clientId: true,
  clientSecret: true,
  clusterKeys: true,
  clusterKey: true,
  basic: true,
  bearer: true,
  controlToken: true,
};

/** A client for one set of base URLs and credentials. Close it when done. Throws a TypeError for a misspelt option. */
export function createClient(options: NamedClientOptions): NamedClient {
  checkNames(options, optionNames, "createClient");
  checkNames(options.baseUrls, addressNames, "createClient: baseUrls");
  checkNames(options.credentials, credentialNames, "createClient: credentials");
  const { maxAnswerBytes } = options;
  const client = createDeclaredClient({ ...options, transport: createTransport({ maxAnswerBytes }) });
  const send = async (id: string, args: unknown, call: CallOptions | undefined) =>
    client.send(CheckedCall.of(operationById(id) as Operation, args as CallArguments | undefined), call);
  return {
    call: async (id, args, call) => (await send(id, args, call)).value as ResultOf<OperationById<typeof id>>,
    send: (id, args, call) => send(id, args, call) as Promise<Answer<ResultOf<OperationById<typeof id>>>>,
    close: () => client.close(),
  };
}
