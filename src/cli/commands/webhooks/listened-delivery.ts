import { activities as allActivities } from "../../../api/activities.ts";
import { lookupTable, toFields, tryParseJson } from "../../../base/object.ts";
import { createTextFlag, type FlagSpec } from "../../../derive/command-spec.ts";
import { detectScheme, getDefaultScheme, type WebhookMessage } from "../../../schemes/webhook-schemes.ts";
import type { WebhookReceiverResponse } from "../../connection/webhook-receiver.ts";
import { dim, green, red, type StyledLine } from "../../output/styled.ts";
import { toKeyError } from "./key.ts";
import { type DeliverySendResult, formatPostResult, isSuccessfulPost } from "./post.ts";

export interface VerifiedDelivery {
  /** Starts at 1. */
  readonly number: number;
  /** ISO 8601. Wall-clock time, or virtual time in svc dev. */
  readonly at: string;
  readonly path: string;
  readonly activity: string | null;
  readonly contract_id: number | null;
  /** ID that commands accept: `T-12`, or `H-12` for a contract executed outside the platform (DECISIONS.md, F1). */
  readonly composite_id: string | null;
  readonly verified: boolean;
  /** Reason for a rejected signature. */
  readonly reason: string | null;
  readonly bytes: number;
}

export interface HandledDelivery extends VerifiedDelivery {
  readonly file: string | null;
  readonly forwardResult: DeliverySendResult | undefined;
}

/** Parses a delivery and verifies its signature. Throws a UsageError if the key is invalid. */
export async function verifyReceivedDelivery(received: {
  number: number;
  /** Wall-clock time in milliseconds. */
  at: number;
  path: string;
  body: Buffer;
  headers: Readonly<Record<string, string>>;
  key: string;
}): Promise<VerifiedDelivery> {
  const { body, headers, key, at: nowMs } = received;
  const verdict = await detectScheme(headers)
    .verify({ body: [body], headers, key, nowMs })
    .catch((cause: unknown) => {
      throw toKeyError(cause);
    });
  const payload = toFields(tryParseJson(body.toString("utf8")));
  const { activity, contract_id: contract, contract_kind: kind } = payload;
  const contractId = typeof contract === "number" ? contract : null;
  return {
    number: received.number,
    at: new Date(nowMs).toISOString(),
    path: received.path,
    activity: typeof activity === "string" ? activity : null,
    contract_id: contractId,
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
  return { status: forwardResult.status, body: forwardResult.body, contentType: forwardResult.content_type };
}

/** Creates the headers of a message by the default scheme. Throws a UsageError if the key is invalid. */
export function signBody(message: WebhookMessage): Readonly<Record<string, string>> {
  try {
    return getDefaultScheme().sign(message);
  } catch (cause) {
    throw toKeyError(cause);
  }
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
