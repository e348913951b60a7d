import type { Operation } from "../../../api/operation.ts";
import { systemWallClock } from "../../../base/clock.ts";
import { tryParseJson } from "../../../base/object.ts";
import { fillTemplate } from "../../../base/urls.ts";
import { buildCredentialHeaders } from "../../../client/credentials.ts";
import type { Credentials } from "../../../client/published.d.ts";
import { operationNamed } from "../../../verify/operations.ts";
import type { Recorder } from "../../../verify/recorder.ts";
import { RequestSender } from "../../../verify/replay/send.ts";
import { CommandFailedError } from "../../process/failure.ts";

export interface RecordTarget {
  readonly router: string | undefined;
  readonly contracts: string | undefined;
  readonly credentials: Credentials;
}

export interface PlannedCall {
  readonly params?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Instead of the declared one. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes the calls of a plan, a few a second, and records each. */
export class RecordCaller {
  readonly #target: RecordTarget;
  readonly #recorder: Recorder;
  readonly #pauseMs: number;
  readonly #sender = new RequestSender();
  /** Aborted: no further call is made, but those that clean up. */
  signal: AbortSignal | undefined;
  #isFirst = true;

  constructor(options: {
    readonly target: RecordTarget;
    readonly recorder: Recorder;
    readonly callsPerSecond: number;
    readonly signal: AbortSignal;
  }) {
    this.#target = options.target;
    this.#recorder = options.recorder;
    this.#pauseMs = 1_000 / options.callsPerSecond;
    this.signal = options.signal;
  }

  close(): void {
    this.#sender.close();
  }

  /** Whether the service of an operation has an address, and its credentials are known. */
  canCall(id: string): boolean {
    const operation = operationNamed(id);
    if (!operation || this.#baseOf(operation) === undefined) return false;
    const { auth } = operation;
    const { clientId, clientSecret, clusterKey, clusterKeys = {}, bearer } = this.#target.credentials;
    if (auth === "api-key") return clientId !== undefined && clientSecret !== undefined;
    if (auth === "cluster-key" || auth === "cluster-key-or-bearer")
      return clusterKey !== undefined || Object.keys(clusterKeys).length > 0;
    return auth === "none" || (auth === "bearer" && bearer !== undefined);
  }

  #baseOf({ service }: Operation): string | undefined {
    return service.name === "router"
      ? this.#target.router
      : service.name === "contracts"
        ? this.#target.contracts
        : undefined;
  }

  /** Calls an operation. Resolves with the document of a success, undefined otherwise. */
  async call(id: string, call: PlannedCall = {}): Promise<unknown> {
    const { status, document } = await this.#call(id, call);
    return status < 300 ? document : undefined;
  }

  /** Calls an operation that must succeed. */
  async require(id: string, call: PlannedCall): Promise<void> {
    const { status } = await this.#call(id, call);
    if (status >= 300) throw new Error(`${id} was rejected (HTTP ${status})`);
  }

  #call(id: string, { params = {}, query, body, method, headers = {} }: PlannedCall) {
    const operation = operationNamed(id)!;
    const base = this.#baseOf(operation)!.replace(/\/$/, "");
    const search = query ? `?${new URLSearchParams(query)}` : "";
    const cluster = (params.cluster_id ?? (body as { cluster_id?: unknown } | undefined)?.cluster_id) as
      | string
      | undefined;
    const own = buildCredentialHeaders(
      operation,
      cluster ?? Object.keys(this.#target.credentials.clusterKeys ?? {})[0],
      this.#target.credentials,
    );
    const bytes = body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
    const all = {
      accept: "application/json",
      ...(body !== undefined && { "content-type": "application/json" }),
      ...own,
      ...headers,
    };
    return this.#send(
      method ?? [operation.method].flat()[0]!,
      base + fillTemplate(operation.path, params) + search,
      all,
      bytes,
    );
  }

  /** Uploads bytes to a signed URL. */
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
      .catch((cause: Error) => {
        this.signal?.throwIfAborted();
        throw new CommandFailedError("temporary", "network", `The service did not respond: ${cause.message}`, {
          cause,
        });
      });
    const { origin } = new URL(url);
    const target = url.slice(origin.length);
    await this.#recorder.add({
      at,
      durationMs: systemWallClock.now() - at,
      request: { method, target, headers: [["host", new URL(url).host], ...pairs], body },
      response,
    });
    return { status: response.status, document: tryParseJson(response.body.toString("utf8")) };
  }
}
