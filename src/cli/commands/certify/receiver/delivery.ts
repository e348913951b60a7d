import { type ClientRequest, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { toIsoMicros, type WallClock } from "../../../../base/clock.ts";
import { decodeForDisplay } from "../../../../base/content-codings.ts";
import { isCertificateFailure } from "../../../../base/errors.ts";
import type { Digest } from "../../../../base/hmac.ts";
import { timedOut, withTimeout } from "../../../../base/timing.ts";
import { lookupHost } from "../../../../files/machine.ts";
import {
  computeSignature,
  getDefaultScheme,
  getEncodingName,
  getSignatureHeader,
  type SignatureFormat,
  toLowerCaseNames,
} from "../../../../schemes/webhook-schemes.ts";

type Document = Readonly<Record<string, unknown>>;

/** Differences of an event from the default event. */
export interface EventOptions {
  readonly activity?: string;
  readonly title?: string;
  readonly status?: string;
  /** Offset in seconds from the time of the default event with the same number. Negative for an earlier event. */
  readonly laterSeconds?: number;
  readonly extraFields?: Document;
}

/** Differences of a forged signature from a genuine one. */
export interface ForgeryOptions {
  /** Bytes to sign instead of the body. */
  readonly body?: string;
  readonly digest?: Digest;
  readonly encoding?: SignatureFormat["encoding"];
  /** A decoded key, or the string of the key without decoding. */
  readonly key?: string | Buffer;
  readonly edit?: (signature: string) => string;
}

export const { digest, encoding } = getDefaultScheme().format;
export const encodingName = getEncodingName(getDefaultScheme().format);
/** The most likely wrong choices of a receiver. */
export const otherDigest = digest === "sha256" ? "sha512" : "sha256";
export const otherEncoding = encoding === "hex" ? "base64" : "hex";

export const jsonContentType: readonly [name: string, value: string] = ["Content-Type", "application/json"];

export type DeliveryFactory = ReturnType<typeof createDeliveryFactory>;

/** Events of one check have consecutive numbers. */
export const maxEventNumbersPerCheck = 200;
/** Age of the default event. Later events of a check are not in the future either. */
const defaultAgeMs = 2_000;

/**
 * Creates genuine events and their signatures by the default scheme. Events are dated by the wall clock, because
 * receivers can have rules about their age.
 */
export function createDeliveryFactory(document: Document, signingKey: string, wall: WallClock) {
  let lastId = 0;

  /** Signs a body as the service does. */
  function sign(text: string | Buffer): RawDelivery {
    const body = Buffer.from(text);
    lastId += 1;
    const signed = getDefaultScheme().sign({ key: signingKey, body, id: lastId, at: wall.now() });
    return { body, headers: [jsonContentType, ...Object.entries(signed)] };
  }

  return {
    key: signingKey,
    sign,

    /**
     * Creates the document of an event about the contract with this number, as compact JSON, shortly before
     * `checkedAt`, in wall-clock milliseconds.
     */
    createEvent(number: number, changes: EventOptions = {}, checkedAt = wall.now()): string {
      const { activity, title = `Certificate ${number}`, status = "SIGN", laterSeconds = 0, extraFields } = changes;
      const data = document.activity_data as Document;
      // The events of one check have different times. No check begins with an older event than the previous one.
      const timestamp = toIsoMicros(
        checkedAt - defaultAgeMs + (number % maxEventNumbersPerCheck) + laterSeconds * 1_000,
      );
      return JSON.stringify({
        ...document,
        ...(activity !== undefined && { activity }),
        activity_data: { ...data, timestamp },
        created_at: timestamp,
        contract_id: number,
        contract_title: title,
        contract_status: status,
        contract_reference_id: `SVC-${number}`,
        ...extraFields,
      });
    },

    /** Signs a body by the rules of another sender or of a wrong receiver. */
    forge(text: string, { edit = (signature) => signature, body = text, ...changes }: ForgeryOptions): RawDelivery {
      const genuine = sign(text);
      const scheme = getDefaultScheme();
      const { key = Buffer.from(signingKey, "base64"), ...format } = changes;
      const headers = toLowerCaseNames(Object.fromEntries(genuine.headers));
      const signature = edit(computeSignature({ ...scheme.format, ...format }, { key, body, headers }));
      const forgedHeader = [getSignatureHeader(scheme), signature] as const;
      return { body: genuine.body, headers: [...genuine.headers.slice(0, -1), forgedHeader] };
    },
  };
}

/** One raw HTTP request. Header names are sent exactly as given. */
export interface RawDelivery {
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Sends the body in chunks, without its length. */
  readonly isChunked?: boolean;
  /** Position in bytes at which the sender pauses briefly within the body. */
  readonly pauseAt?: number;
  /** Closes the connection within the body or after it, without waiting for a response. */
  readonly hangsUp?: "in-body" | "after-body";
}

/** Response to a delivery. `status` is defined if a status arrived, `error` if the response is incomplete. */
export interface ReceiverResponse {
  readonly status: number | undefined;
  readonly error: ReceiverError | undefined;
  readonly durationMs: number;
  /** Beginning of the body. */
  readonly body: string;
}

interface ReceiverError {
  readonly code:
    | "refused"
    | "unreachable"
    | "certificate"
    | "closed"
    | "timeout"
    | "too-large"
    | "malformed"
    | "hung-up";
  readonly message: string;
}

/** Reports whether a 2xx status arrived, even if the rest of the response is missing (DECISIONS.md, C20). */
export const isAccepted = ({ status = 0 }: ReceiverResponse): boolean => status >= 200 && status < 300;

export const hasTimedOut = ({ status, error }: ReceiverResponse): boolean =>
  error?.code === "timeout" && status === undefined;

interface SenderOptions {
  readonly url: string;
  readonly wall: WallClock;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

export const maxResponseMs = 5_000;
/** Pause within a body, so that its parts arrive in separate packets. */
const defaultPauseMs = 30;
const maxResponseBytes = 1024 * 1024;
const maxInformationalResponses = 20;
const maxShownBytes = 2_000;

/** Sends a delivery over its own connection. Never rejects: errors are part of the response. */
export async function sendDelivery(
  delivery: RawDelivery,
  { url, wall, signal, timeoutMs }: SenderOptions,
): Promise<ReceiverResponse> {
  const startedAt = wall.monotonicNow();
  const received: ReceivedResponse = { status: undefined, encoding: undefined, chunks: [], size: 0 };
  let error: ReceiverError | undefined;
  try {
    const request = openRequest(url, delivery);
    const outcome = await withTimeout(wall, timeoutMs, exchange(request, delivery, received, wall), signal);
    request.destroy();
    const problem = received.status === undefined ? "no response" : "the response is not complete";
    const message = signal.aborted ? "interrupted" : `${problem} after ${timeoutMs / 1_000} s`;
    error = outcome === timedOut ? { code: "timeout", message } : outcome;
  } catch (cause) {
    error = { code: "malformed", message: (cause as Error).message };
  }
  const bytes = Buffer.concat(received.chunks).subarray(0, maxShownBytes);
  const durationMs = wall.monotonicNow() - startedAt;
  const body = decodeForDisplay(bytes, received.encoding).subarray(0, maxShownBytes);
  return { status: received.status, error, durationMs, body: body.toString("utf8") };
}

/** The part of a response that has arrived. */
interface ReceivedResponse {
  status: number | undefined;
  encoding: string | undefined;
  readonly chunks: Buffer[];
  size: number;
}

/** Sends the delivery and reads the response. Resolves with undefined once the response is complete. */
const exchange = (request: ClientRequest, delivery: RawDelivery, received: ReceivedResponse, wall: WallClock) =>
  new Promise<ReceiverError | undefined>((resolve) => {
    const fail = (code: ReceiverError["code"], message: string) => resolve({ code, message });
    request.on("response", (response) => {
      received.status = response.statusCode;
      received.encoding = response.headers["content-encoding"];
      response.on("data", (bytes: Buffer) => {
        if (received.size < maxShownBytes) received.chunks.push(bytes);
        received.size += bytes.length;
        if (received.size > maxResponseBytes) fail("too-large", "the response is larger than 1 MiB");
      });
      const failClosed = () => fail("closed", "the connection closed during the response");
      response.on("end", () => (response.complete ? resolve(undefined) : failClosed())).on("error", failClosed);
    });
    let informational = 0;
    request.on("information", () => {
      informational += 1;
      if (informational > maxInformationalResponses) fail("malformed", "the receiver sends only 1xx responses");
    });
    request.on("upgrade", () => fail("malformed", "the receiver switched protocols (HTTP 101)"));
    request.on("error", (error: NodeJS.ErrnoException) => resolve(toReceiverError(error)));
    void sendBody(request, delivery, wall).then((hasHungUp) => {
      if (hasHungUp) fail("hung-up", "the sender closed the connection");
    });
  });

function openRequest(url: string, { headers, body, isChunked }: RawDelivery): ClientRequest {
  const { host, protocol } = new URL(url);
  const length: [string, string] = isChunked
    ? ["Transfer-Encoding", "chunked"]
    : ["Content-Length", String(body.length)];
  const sentHeaders = [["Host", host], ...headers, length, ["Connection", "close"]].flat() as string[];
  const open = protocol === "https:" ? httpsRequest : httpRequest;
  return open(url, { method: "POST", headers: sentHeaders, agent: false, lookup: lookupHost });
}

/** Sends the body. Resolves with true once a requested hang-up is due. */
async function sendBody(
  request: ClientRequest,
  { body, pauseAt, isChunked, hangsUp }: RawDelivery,
  wall: WallClock,
): Promise<boolean> {
  const write = (send: (callback: () => void) => void) =>
    new Promise<void>((resolve) => {
      send(resolve);
      request.once("close", resolve);
    });
  const splitAt = pauseAt ?? (isChunked || hangsUp === "in-body" ? Math.floor(body.length / 2) : 0);
  if (splitAt > 0) {
    await write((callback) => request.write(body.subarray(0, splitAt), callback));
    await wall.sleep(defaultPauseMs);
    if (hangsUp === "in-body" || request.destroyed) return hangsUp === "in-body";
  }
  await write((callback) => request.end(body.subarray(splitAt), callback));
  if (hangsUp === "after-body") await wall.sleep(defaultPauseMs);
  return hangsUp === "after-body";
}

function toReceiverError({ code = "", message }: NodeJS.ErrnoException): ReceiverError {
  if (code === "ECONNREFUSED") return { code: "refused", message: "connection refused" };
  if (["ECONNRESET", "EPIPE", "ECONNABORTED"].includes(code))
    return { code: "closed", message: "the connection closed without a response" };
  if (code === "HPE_HEADER_OVERFLOW")
    return { code: "too-large", message: "the headers of the response are too large" };
  if (code.startsWith("HPE_")) return { code: "malformed", message: `the response is not valid HTTP (${code})` };
  if (isCertificateFailure(code)) return { code: "certificate", message: `the certificate is rejected (${code})` };
  return { code: "unreachable", message: code || message };
}
