import { activities as allActivities } from "../../../api/activities.ts";
import { toFields } from "../../../base/object.ts";
import type { FlagSpec } from "../../../derive/command-spec.ts";
import { detectScheme, getDefaultScheme, type WebhookMessage } from "../../../schemes/webhook-schemes.ts";
import { dim, green, red, type StyledLine } from "../../output/styled.ts";
import { toKeyError } from "./key.ts";
import { type DeliverySendResult, formatPostResult, isSuccessfulPost } from "./post.ts";

export interface VerifiedDelivery {
  /** Starts at 1. */
  readonly number: number;
  /** Wall-clock time, ISO 8601. */
  readonly at: string;
  readonly path: string;
  readonly bytes: number;
  readonly verified: boolean;
  readonly reason: string | undefined;
  readonly activity: string | undefined;
  readonly contract_id: number | undefined;
  /** ID that commands accept: `T-12`, or `H-12` for a contract executed outside the platform (DECISIONS.md, F1). */
  readonly composite_id: string | undefined;
}

export interface ListenedDelivery extends VerifiedDelivery {
  readonly file: string | undefined;
  readonly forwarded: DeliverySendResult | undefined;
}

/** Parses a delivery and verifies its signature. Throws a UsageError if the key is invalid. */
export async function verifyReceivedDelivery(received: {
  number: number;
  /** Wall-clock time. */
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
  const { activity, contract_id: contract, contract_kind: kind } = parsePayload(body);
  return {
    number: received.number,
    at: new Date(nowMs).toISOString(),
    path: received.path,
    bytes: body.length,
    verified: verdict.ok,
    reason: verdict.ok ? undefined : verdict.reason,
    activity: typeof activity === "string" ? activity : undefined,
    contract_id: typeof contract === "number" ? contract : undefined,
    composite_id: typeof contract === "number" ? `${kind === "EXECUTED_CONTRACT" ? "H" : "T"}-${contract}` : undefined,
  };
}

/** Creates the headers of a message by the default scheme. Throws a UsageError if the key is invalid. */
export function signBody(message: WebhookMessage): Readonly<Record<string, string>> {
  try {
    return getDefaultScheme().sign(message);
  } catch (cause) {
    throw toKeyError(cause);
  }
}

const describeRejection = (reason = "missing"): string =>
  ({ missing: "no signature", mismatch: "signature mismatch" })[reason] ?? `${reason} signature`;

export const formatVerdict = ({ verified, reason }: VerifiedDelivery) =>
  verified ? green("verified") : red(describeRejection(reason));

/** Formats `--> 03:04:05 CONTRACT_SIGNED [T-12] verified`, and `<-- 200 in 12 ms` for a forwarded delivery. */
export function formatListenedDelivery(listened: ListenedDelivery): StyledLine[] {
  const { at, activity, composite_id: contract, forwarded, file } = listened;
  const about = contract === undefined ? "" : ` [${contract}]`;
  const savedAs = file === undefined ? [] : [" ", dim(file)];
  const first = [
    `--> ${at.slice(11, 19)} ${activity ?? "not a webhook"}${about} `,
    formatVerdict(listened),
    ...savedAs,
  ];
  if (!forwarded) return [first];
  const paint = isSuccessfulPost(forwarded) ? green : red;
  return [first, ["<-- ", paint(formatPostResult(forwarded))]];
}

function parsePayload(body: Buffer): Readonly<Record<string, unknown>> {
  try {
    return toFields(JSON.parse(body.toString("utf8")));
  } catch {
    return {};
  }
}

/** Flags of svc webhooks listen and svc dev for the source and target of deliveries. */
export const forwardingFlags = [
  {
    flag: "forward-to",
    type: "text",
    placeholder: "URL",
    description: "Forward each delivery to this URL, or to a port of localhost",
  },
  {
    flag: "activities",
    type: "text",
    placeholder: "A,B",
    repeatable: true,
    offered: allActivities,
    description: `Activities to subscribe to (default: all ${allActivities.length})`,
  },
  {
    flag: "header",
    type: "text",
    placeholder: "NAME: VALUE",
    repeatable: true,
    description: "Add a header to forwarded requests",
  },
] as const satisfies readonly FlagSpec[];
