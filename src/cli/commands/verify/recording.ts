import { createHash, randomBytes } from "node:crypto";
import { readFile, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { showClock } from "../../../api/emulator/clock.ts";
import type { Operation } from "../../../api/operation.ts";
import { getOperationById, type OperationId } from "../../../api/registry.ts";
import { toFields, tryParseJson } from "../../../base/object.ts";
import { pluralize } from "../../../base/text.ts";
import { fillTemplate } from "../../../base/urls.ts";
import { MissingCredentialsError } from "../../../client/errors.ts";
import type { Credentials } from "../../../client/published.d.ts";
import { buildCredentialHeaders } from "../../../client/request.ts";
import { createFileAtomic } from "../../../files/atomic-write.ts";
import { ignoreMissing } from "../../../files/disk.ts";
import { makeFolder } from "../../../files/folders.ts";
import { CorpusError, indexFileName } from "../../../verify/corpus.ts";
import { ExchangeRecorder } from "../../../verify/recorder.ts";
import { createRequestSender, NoResponseError } from "../../../verify/replay/send.ts";
import type { Context, ServiceTarget } from "../../command.ts";
import { isEmulator } from "../../connection/target.ts";
import type { ReceivedWebhookRequest } from "../../connection/webhook-receiver.ts";
import { getStateFolder } from "../../process/environment.ts";
import { CommandFailedError, UsageError } from "../../process/failure.ts";
import type { Host } from "../../process/host.ts";

/**
 * Returns the path of the stand-in key. The key is stored outside the corpus while a recording is open. Continued
 * recordings and saved webhooks therefore use the same stand-ins. The key is removed at the end of the recording.
 */
function resolveKeyPath({ env }: Host, folder: string): string {
  const name = createHash("sha256").update(folder).digest("hex").slice(0, 32);
  return join(getStateFolder(env), "verify", `${name}.key`);
}

/** Starts the corpus of --out, or continues an interrupted corpus. Throws UsageError if the corpus is invalid. */
export async function openRecording({ host, output }: Pick<Context, "host" | "output">, folderName: string) {
  const folder = resolve(host.cwd, folderName);
  const path = resolveKeyPath(host, folder);
  try {
    await makeFolder(join(path, ".."));
    await createFileAtomic(path, randomBytes(32).toString("hex"), { mode: 0o600 });
    const key = Buffer.from(await readFile(path, "utf8"), "hex");
    const recorder = await ExchangeRecorder.open(folder, key);
    const continued = recorder.count;
    if (continued > 0) await output.note(`Continuing a corpus of ${pluralize(continued, "exchange")}`);
    return {
      recorder,
      /** Number of exchanges of an interrupted recording. */
      continued,
      /** Completes the corpus. No exchange can be added afterwards. */
      async end() {
        await recorder.close();
        await rm(path, { force: true });
      },
    };
  } catch (cause) {
    return throwCorpusError("--out")(cause);
  }
}

/** Opens the corpus that svc verify proxy records in a folder, to add webhooks to it, or returns undefined. */
export async function joinRecording(folder: string, context: Context) {
  const { host } = context;
  if (!(await stat(join(folder, indexFileName)).catch(() => undefined))) return undefined;
  const key = await readFile(resolveKeyPath(host, folder), "utf8").catch(ignoreMissing);
  if (key === undefined)
    throw new UsageError(`--save: ${folder} contains a corpus that is not being recorded`, {
      hint: "Start svc verify proxy with this folder first, or choose another one.",
    });
  const opening = ExchangeRecorder.open(folder, Buffer.from(key, "hex"), true);
  const recorder = await opening.catch(throwCorpusError("--save"));
  return {
    async add(
      operation: string,
      { path: target, headers, body, status }: ReceivedWebhookRequest & { readonly status: number },
    ): Promise<string> {
      const request = { method: "POST", target, headers: Object.entries(headers), body };
      const response = { status, headers: [], body: Buffer.alloc(0) };
      const at = await fetchServiceTime(context);
      return recorder.add({ callee: "receiver", operation, at, request, response });
    },
  };
}

/** Returns virtual time for a webhook from an emulator, because its requests are recorded with virtual time. */
async function fetchServiceTime(context: Context): Promise<number> {
  if (!(await isEmulator(context))) return context.host.wall.now();
  const client = await context.client("emulator");
  return Date.parse((await client.call(showClock, {}, { signal: context.forceSignal })).now);
}

/** Returns a function that throws a corpus error as a usage error, because no request was sent. */
export const throwCorpusError =
  (name: string) =>
  (cause: unknown): never => {
    throw cause instanceof CorpusError ? new UsageError(`${name}: ${cause.message}`, { cause }) : cause;
  };

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
  function canCall(id: OperationId): boolean {
    const operation = getOperationById(id);
    return getBaseUrl(operation) !== undefined && findCredentialHeaders(operation, credentials) !== undefined;
  }

  function sendCall(id: OperationId, { params = {}, query, body, method, headers = {} }: PlannedRequest) {
    const operation: Operation = getOperationById(id);
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
    const sending = sender.send({ method, url, headers: pairs, body }, stopSignal);
    const { at, ...response } = await sending.catch(throwNetworkFailure);
    const { origin, host } = new URL(url);
    const request = { method, target: url.slice(origin.length), headers: [["host", host] as const, ...pairs], body };
    await recorder.add({ at, request, response });
    return { status: response.status, document: tryParseJson(response.body.toString("utf8")) };
  }

  /**
   * Sends a request to an operation. Resolves with the document of a success, or an empty one if the body is not JSON,
   * and with undefined otherwise.
   */
  async function call(id: OperationId, request: PlannedRequest = {}): Promise<unknown> {
    const { status, document } = await sendCall(id, request);
    return status < 300 ? (document ?? {}) : undefined;
  }

  return {
    canCall,
    call,
    tryCall: async (id: OperationId, request?: PlannedRequest) => (canCall(id) ? call(id, request) : undefined),

    async require(id: OperationId, request: PlannedRequest): Promise<void> {
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

export function throwNetworkFailure(cause: unknown): never {
  if (!(cause instanceof NoResponseError)) throw cause;
  const hint = "Check the address, and that the service is running.";
  throw new CommandFailedError("temporary", "network", `${cause.message}.`, { hint, cause });
}

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
