import type { Operation } from "../../../api/operation.ts";
import { toFields, tryParseJson } from "../../../base/object.ts";
import { fillTemplate } from "../../../base/urls.ts";
import { MissingCredentialsError } from "../../../client/errors.ts";
import type { Credentials } from "../../../client/published.d.ts";
import { buildCredentialHeaders } from "../../../client/request.ts";
import type { ExchangeRecorder } from "../../../verify/recorder.ts";
import { findOperationById } from "../../../verify/replay/claims.ts";
import { createRequestSender, NoResponseError } from "../../../verify/replay/send.ts";
import type { ServiceTarget } from "../../command.ts";
import { CommandFailedError } from "../../process/failure.ts";

interface PlannedRequest {
  readonly params?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Replaces the declared method. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export type RecordingClient = ReturnType<typeof createRecordingClient>;

/** Creates a client that sends the requests of a plan at a limited rate, and records each exchange. */
export function createRecordingClient(
  { baseUrls, credentials }: Pick<ServiceTarget, "baseUrls" | "credentials">,
  recorder: ExchangeRecorder,
  callsPerSecond: number,
  signal: AbortSignal,
) {
  const sender = createRequestSender(callsPerSecond);
  let isCleanUp = false;

  const getBaseUrl = ({ service }: Operation): string | undefined =>
    service.name === "router" || service.name === "contracts" ? baseUrls[service.name] : undefined;

  /** Reports whether the service of an operation has an address and configured credentials. */
  function canCall(id: string): boolean {
    const operation = findOperationById(id);
    return (
      operation !== undefined &&
      getBaseUrl(operation) !== undefined &&
      findCredentialHeaders(operation, credentials) !== undefined
    );
  }

  function sendCall(id: string, { params = {}, query, body, method, headers = {} }: PlannedRequest) {
    const operation = findOperationById(id)!;
    const base = getBaseUrl(operation)!.replace(/\/$/, "");
    const search = query ? `?${new URLSearchParams(query)}` : "";
    const cluster = params.cluster_id ?? toFields(body).cluster_id;
    const ownHeaders = findCredentialHeaders(operation, credentials, cluster as string | undefined);
    const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
    const contentType = bytes.length > 0 && { "content-type": "application/json" };
    return send(
      method ?? [operation.method].flat()[0]!,
      base + fillTemplate(operation.path, params) + search,
      { accept: "application/json", ...contentType, ...ownHeaders, ...headers },
      bytes,
    );
  }

  async function send(method: string, url: string, headers: Readonly<Record<string, string>>, body: Buffer) {
    const pairs = Object.entries(headers);
    const stopSignal = isCleanUp ? undefined : signal;
    const sent = await sender.send({ method, url, headers: pairs, body }, stopSignal).catch((cause: unknown) => {
      throw toNetworkFailure(cause);
    });
    const { at, durationMs, ...response } = sent;
    const { origin, host } = new URL(url);
    const request = { method, target: url.slice(origin.length), headers: [["host", host] as const, ...pairs], body };
    await recorder.add({ at, durationMs, request, response });
    return { status: response.status, document: tryParseJson(response.body.toString("utf8")) };
  }

  /** Sends a request to an operation. Resolves with the response body of a success, and with undefined otherwise. */
  async function call(id: string, request: PlannedRequest = {}): Promise<unknown> {
    const { status, document } = await sendCall(id, request);
    return status < 300 ? document : undefined;
  }

  return {
    canCall,
    call,
    tryCall: async (id: string, request?: PlannedRequest) => (canCall(id) ? call(id, request) : undefined),

    async require(id: string, request: PlannedRequest): Promise<void> {
      const { status } = await sendCall(id, request);
      if (status >= 300) throw new Error(`${id} was rejected (HTTP ${status})`);
    },

    async upload(url: string, contentType: string, bytes: Buffer): Promise<void> {
      await send("PUT", url, { "content-type": contentType }, bytes);
    },

    /** Later requests are also sent after an abort. */
    startCleanUp(): void {
      isCleanUp = true;
    },

    close: () => sender.close(),
  };
}

export const toNetworkFailure = (cause: unknown): unknown =>
  cause instanceof NoResponseError
    ? new CommandFailedError("temporary", "network", `${cause.message}.`, {
        hint: "Check the address, and that the service is running.",
        cause,
      })
    : cause;

/** Returns the credential headers of an operation. Returns undefined if a credential is missing. */
export function findCredentialHeaders(operation: Operation, credentials: Credentials, cluster?: string) {
  const { clusterKey, clusterKeys = {} } = credentials;
  const [firstCluster] = Object.keys(clusterKeys);
  const needsClusterKey = operation.auth === "cluster-key" || operation.auth === "cluster-key-or-bearer";
  if (needsClusterKey && clusterKey === undefined && firstCluster === undefined) return undefined;
  try {
    return buildCredentialHeaders(operation, cluster ?? firstCluster, credentials);
  } catch (cause) {
    if (cause instanceof MissingCredentialsError) return undefined;
    throw cause;
  }
}
