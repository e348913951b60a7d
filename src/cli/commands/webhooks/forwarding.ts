import { activities as allActivities } from "../../../api/activities.ts";
import { suggestsTlsServer } from "../../../base/errors.ts";
import { lookupTable, toFields, tryParseJson } from "../../../base/object.ts";
import { NetworkError } from "../../../client/errors.ts";
import type { HttpResponse } from "../../../client/request.ts";
import { readBodyText } from "../../../client/response.ts";
import { createTextFlag, type FlagSpec } from "../../../derive/command-spec.ts";
import { emulatorOptions } from "../../../derive/emulator-options.ts";
import { detectScheme } from "../../../schemes/webhook-schemes.ts";
import type { Context } from "../../command.ts";
import { openTransport } from "../../connection/http.ts";
import type { ReceivedWebhookRequest, WebhookReceiverResponse } from "../../connection/webhook-receiver.ts";
import { dim, green, red, type StyledLine } from "../../output/styled.ts";
import { truncateText } from "../../output/table.ts";
import type { CommandInputOf } from "../../parse/declaration.ts";
import { parseUrlFlag } from "../../parse/globals.ts";
import { parseHeaderFlag } from "../../parse/headers.ts";
import { findSettingHint } from "../../process/exit.ts";
import { UsageError } from "../../process/failure.ts";
import { redactHeader } from "../../process/redact.ts";
import { parseActivities } from "./registration.ts";
import { type SavedDelivery, selectForwardedHeaders } from "./saved-deliveries.ts";
import { throwKeyError } from "./signing-key.ts";

export type DeliverySendResult =
  | {
      readonly status: number;
      readonly duration_ms: number;
      readonly body: string;
      readonly headers: HttpResponse["headers"];
    }
  | { readonly error: string; readonly duration_ms: number };

export const isSuccessfulPost = (response: DeliverySendResult): boolean =>
  "status" in response && response.status >= 200 && response.status < 300;

/** Formats `200 in 12 ms`, `401 in 12 ms: bad signature` with the receiver's reason for a rejection, or the error. */
export function formatPostResult(response: DeliverySendResult): string {
  if ("error" in response) return response.error;
  const summary = `${response.status} in ${response.duration_ms} ms`;
  const { location, "content-type": type = "" } = response.headers;
  if (response.status >= 300 && response.status < 400 && location !== undefined)
    return `${summary}: a redirect to ${redactHeader("location", location)}, which is not followed`;
  const text = response.body.trim();
  const isHtml = /html/i.test(type);
  return isSuccessfulPost(response) || text === "" || isHtml
    ? summary
    : `${summary}: ${truncateText(text.replaceAll(/\s+/g, " "), 200)}`;
}

/** Omits the body, which can contain personal data, from a result. */
export function summarizePost(result: DeliverySendResult | undefined) {
  if (result === undefined) return null;
  const outcome = "status" in result ? { status: result.status } : { error: result.error };
  return { ...outcome, duration_ms: result.duration_ms };
}

/** Creates a sender that delivers to receivers as the service does. It is closed at the end of the run. */
export async function openDeliverySender({ globals, host, signal, onEnd }: Context) {
  const transport = await openTransport(host, globals);
  const end = new AbortController();
  const endSignal = AbortSignal.any([signal, end.signal]);
  onEnd(() => {
    // The end of the transport would look like a failure of the receiver.
    end.abort();
    return transport.close();
  });
  return {
    /** Sends raw bytes and headers once. An unreachable receiver is a result, not an exception. */
    async post(
      url: string,
      { body, headers }: SavedDelivery,
      extraHeaders: SavedDelivery["headers"],
    ): Promise<DeliverySendResult> {
      const startedAt = host.wall.monotonicNow();
      const measureDuration = () => Math.round(host.wall.monotonicNow() - startedAt);
      try {
        const { host: name } = extraHeaders;
        const forwarded = selectForwardedHeaders({ ...headers, ...extraHeaders });
        // An app that was stopped at a breakpoint closes idle connections first, also those with a request.
        const allHeaders = { ...forwarded, connection: "close", ...(name !== undefined && { host: name }) };
        const request = { method: "POST", url, headers: allHeaders, body } as const;
        const timeoutMs = globals.timeoutMs ?? emulatorOptions.webhookResponseTimeoutMs.default;
        const response = await transport.send(request, { timeoutMs, signal: endSignal });
        // The first final status is the result, even without a complete body (DECISIONS.md, C20).
        const text = await readBodyText(response.body).catch((error: unknown) => {
          if (error instanceof NetworkError) return "";
          throw error;
        });
        return { status: response.status, duration_ms: measureDuration(), body: text, headers: response.headers };
      } catch (error) {
        if (!(error instanceof NetworkError)) throw error;
        const tlsHint = suggestsTlsServer(url, error.code) ? "If the receiver uses TLS, use https://." : undefined;
        const hint = tlsHint ?? findSettingHint(error.code) ?? "";
        return { error: `${error.message} ${hint}`.trimEnd(), duration_ms: measureDuration() };
      }
    },
  };
}

const receiverExamples = "http://localhost:3000/hooks, 3000/hooks";

/** Parses the URL of a receiver, also in the forms `localhost:3000/hooks`, `[::1]:3000`, `3000/hooks` and `:3000`. */
export function parseReceiverUrl(text: string, flag: string): string {
  const [, port, rest] = /^:?(\d+)($|[/?].*)/.exec(text) ?? [];
  if (port !== undefined) {
    if (Number(port) > 65_535) throw new UsageError(`${flag} must be a port up to 65535, or a URL, got "${text}"`);
    return parseUrlFlag(`http://localhost:${port}${rest}`, flag);
  }
  const isHostAndPort = /^([\w.-]+|\[[\da-f:.]+\]):\d{1,5}($|[/?])/.test(text);
  return parseUrlFlag(isHostAndPort ? `http://${text}` : text, flag, receiverExamples);
}

export type VerifiedDelivery = Readonly<Awaited<ReturnType<typeof verifyReceivedDelivery>>>;

export interface HandledDelivery extends VerifiedDelivery {
  readonly file: string | null;
  readonly forwardResult: DeliverySendResult | undefined;
}

/** Parses a delivery and verifies its signature. Throws a UsageError if the key is invalid. */
export async function verifyReceivedDelivery(
  { path, body, headers }: ReceivedWebhookRequest,
  /** `number` starts at 1. `nowMs` is wall-clock time. */
  { number, nowMs, key }: { readonly number: number; readonly nowMs: number; readonly key: string },
) {
  const verification = detectScheme(headers).verify({ body: [body], headers, key, nowMs });
  const verdict = await verification.catch(throwKeyError);
  const payload = toFields(tryParseJson(body.toString("utf8")));
  const { activity, contract_id: contract, contract_kind: kind } = payload;
  const contractId = typeof contract === "number" ? contract : null;
  return {
    number,
    /** ISO 8601. svc dev replaces it with virtual time. */
    at: new Date(nowMs).toISOString(),
    path,
    activity: typeof activity === "string" ? activity : null,
    contract_id: contractId,
    /** ID that commands accept: `T-12`, or `H-12` for a contract executed outside the platform (DECISIONS.md, F1). */
    composite_id: contractId === null ? null : `${kind === "EXECUTED_CONTRACT" ? "H" : "T"}-${contractId}`,
    verified: verdict.ok,
    reason: verdict.ok ? null : verdict.reason,
    bytes: body.length,
  };
}

/** The forwarding target determines the response. Without a target, the receiver rejects invalid signatures. */
export function chooseResponse(
  { verified }: VerifiedDelivery,
  forwardResult: HandledDelivery["forwardResult"],
): WebhookReceiverResponse {
  if (!forwardResult) return verified ? { status: 200, body: "ok" } : { status: 401, body: "bad signature" };
  if ("error" in forwardResult) return { status: 502, body: forwardResult.error };
  const { status, body, headers } = forwardResult;
  const { location, "content-type": type = "text/plain" } = headers;
  return { status, body, headers: { "content-type": type, ...(location !== undefined && { location }) } };
}

const rejections = lookupTable<string>({ missing: "no signature", mismatch: "signature mismatch" });

export const formatVerdict = ({ reason }: VerifiedDelivery) =>
  reason === null ? green("verified") : red(rejections[reason] ?? `${reason} signature`);

/** Formats `--> 03:04:05 CONTRACT_SIGNED [T-12] verified`, and `<-- 200 in 12 ms` for a forwarded delivery. */
export function formatListenedDelivery(delivery: HandledDelivery): StyledLine[] {
  const { at, activity, composite_id: contract, forwardResult, file } = delivery;
  const contractLabel = contract === null ? "" : ` [${contract}]`;
  const savedAs = file === null ? [] : [" ", dim(file)];
  const start = `--> ${at.slice(11, 19)} ${activity ?? "not a webhook"}${contractLabel} `;
  const first = [start, formatVerdict(delivery), ...savedAs];
  if (!forwardResult) return [first];
  const paint = isSuccessfulPost(forwardResult) ? green : red;
  return [first, ["<-- ", paint(formatPostResult(forwardResult))]];
}

export const forwardingFlags = [
  createTextFlag("forward-to", "URL", "Forward each delivery to this URL, or to a port of localhost"),
  createTextFlag("activities", "A,B", `Activities to subscribe to (default: all ${allActivities.length})`, {
    repeatable: true,
    suggestions: allActivities,
  }),
  createTextFlag("header", "NAME: VALUE", "Add a header to forwarded requests", { repeatable: true }),
] as const satisfies readonly FlagSpec[];

/** Parses the values of --header for `post`. Throws a UsageError for a header that `post` would not send. */
export function parseExtraHeaders(texts: readonly string[] | undefined): Record<string, string> {
  const headers = parseHeaderFlag(texts);
  const sent = { host: headers.host, ...selectForwardedHeaders(headers) };
  const unsent = Object.keys(headers).find((name) => !Object.hasOwn(sent, name));
  if (unsent === undefined) return headers;
  throw new UsageError(`--header cannot set ${unsent}, because svc manages the headers of the connection`);
}

export const readForwardingFlags = (flags: CommandInputOf<typeof forwardingFlags>["flags"]) => ({
  forwardTo: flags["forward-to"] === undefined ? undefined : parseReceiverUrl(flags["forward-to"], "--forward-to"),
  extraHeaders: parseExtraHeaders(flags.header),
  activities: parseActivities(flags.activities) ?? allActivities,
});
