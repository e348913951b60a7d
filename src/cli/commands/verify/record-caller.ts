import type { Operation } from "../../../api/operation.ts";
import { systemWallClock } from "../../../base/clock.ts";
import { toFields, tryParseJson } from "../../../base/object.ts";
import { fillTemplate } from "../../../base/urls.ts";
import { MissingCredentialsError } from "../../../client/errors.ts";
import type { Credentials } from "../../../client/published.d.ts";
import { buildCredentialHeaders } from "../../../client/request.ts";
import type { ExchangeRecorder } from "../../../verify/recorder.ts";
import { findOperationById } from "../../../verify/replay/claims.ts";
import { NoResponseError, RequestSender } from "../../../verify/replay/send.ts";
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

/** Sends the requests of a plan at a limited rate, and records each exchange. */
export class RecordingClient {
  readonly #target: Pick<ServiceTarget, "baseUrls" | "credentials">;
  readonly #recorder: ExchangeRecorder;
  readonly #pauseMs: number;
  readonly #sender = new RequestSender();
  /** Undefined during the clean-up, which also runs after an abort. */
  signal: AbortSignal | undefined;
  #isFirst = true;

  constructor(
    target: Pick<ServiceTarget, "baseUrls" | "credentials">,
    recorder: ExchangeRecorder,
    callsPerSecond: number,
    signal: AbortSignal,
  ) {
    this.#target = target;
    this.#recorder = recorder;
    this.#pauseMs = 1_000 / callsPerSecond;
    this.signal = signal;
  }

  close(): void {
    this.#sender.close();
  }

  /** Reports whether the service of an operation has an address and configured credentials. */
  canCall(id: string): boolean {
    const operation = findOperationById(id);
    if (!operation || this.#getBaseUrl(operation) === undefined) return false;
    return findCredentialHeaders(operation, this.#target.credentials) !== undefined;
  }

  #getBaseUrl({ service }: Operation): string | undefined {
    const { router, contracts } = this.#target.baseUrls;
    return service.name === "router" ? router : service.name === "contracts" ? contracts : undefined;
  }

  /** Sends a request to an operation. Resolves with the response body of a success, and with undefined otherwise. */
  async call(id: string, call: PlannedRequest = {}): Promise<unknown> {
    const { status, document } = await this.#call(id, call);
    return status < 300 ? document : undefined;
  }

  async tryCall(id: string, call?: PlannedRequest): Promise<unknown> {
    return this.canCall(id) ? this.call(id, call) : undefined;
  }

  async require(id: string, call: PlannedRequest): Promise<void> {
    const { status } = await this.#call(id, call);
    if (status >= 300) throw new Error(`${id} was rejected (HTTP ${status})`);
  }

  #call(id: string, { params = {}, query, body, method, headers = {} }: PlannedRequest) {
    const operation = findOperationById(id)!;
    const base = this.#getBaseUrl(operation)!.replace(/\/$/, "");
    const search = query ? `?${new URLSearchParams(query)}` : "";
    const cluster = params.cluster_id ?? toFields(body).cluster_id;
    const ownHeaders = findCredentialHeaders(operation, this.#target.credentials, cluster as string | undefined);
    const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
    const contentType = bytes.length > 0 && { "content-type": "application/json" };
    return this.#send(
      method ?? [operation.method].flat()[0]!,
      base + fillTemplate(operation.path, params) + search,
      { accept: "application/json", ...contentType, ...ownHeaders, ...headers },
      bytes,
    );
  }

  async upload(url: string, contentType: string, bytes: Buffer): Promise<void> {
    await this.#send("PUT", url, { "content-type": contentType }, bytes);
  }

  async #send(
    method: string,
    url: string,
    headers: Readonly<Record<string, string>>,
    body: Buffer,
  ): Promise<{ status: number; document: unknown }> {
    this.signal?.throwIfAborted();
    if (!this.#isFirst) await systemWallClock.sleep(this.#pauseMs, this.signal);
    this.signal?.throwIfAborted();
    this.#isFirst = false;
    const pairs = Object.entries(headers);
    const at = systemWallClock.now();
    const response = await this.#sender
      .send({ method, url, headers: pairs, body }, this.signal)
      .catch((cause: unknown) => {
        throw toNetworkFailure(cause);
      });
    const { origin, host } = new URL(url);
    const target = url.slice(origin.length);
    await this.#recorder.add({
      at,
      durationMs: systemWallClock.now() - at,
      request: { method, target, headers: [["host", host], ...pairs], body },
      response,
    });
    return { status: response.status, document: tryParseJson(response.body.toString("utf8")) };
  }
}

/** Converts a missing response to a temporary failure. */
export const toNetworkFailure = (cause: unknown): unknown =>
  cause instanceof NoResponseError
    ? new CommandFailedError("temporary", "network", `${cause.message}.`, {
        hint: "Check the address, and that the service is running.",
        cause,
      })
    : cause;

/** Returns the credential headers of an operation. Returns undefined if a credential is missing. */
export function findCredentialHeaders(
  operation: Operation,
  credentials: Credentials,
  cluster?: string,
): Readonly<Record<string, string>> | undefined {
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
