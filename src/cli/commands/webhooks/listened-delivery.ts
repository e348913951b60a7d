import { activities as allActivities } from "../../../api/activities.ts";
import { toFields } from "../../../base/object.ts";
import type { FlagSpec } from "../../../derive/command-spec.ts";
import { compareContentHash, contentHash, contentHashHeader } from "../../../schemes/webhook.ts";
import { dim, green, red, type StyledLine } from "../../output/styled.ts";
import { toKeyError } from "./key.ts";
import { formatPostResult, isSuccessfulPost, type PostResult } from "./post.ts";

/** A received delivery and its report. */
export interface VerifiedDelivery {
  /** Starts at 1. */
  readonly number: number;
  /** Wall-clock time, ISO 8601. */
  readonly at: string;
  readonly path: string;
  readonly bytes: number;
  readonly verified: boolean;
  readonly reason: "missing" | "malformed" | "mismatch" | undefined;
  readonly activity: string | undefined;
  readonly contract_id: number | undefined;
  /** The ID that commands accept: `T-12`, or `H-12` for a contract executed outside the platform (DECISIONS.md, F1). */
  readonly composite_id: string | undefined;
}

export interface ListenedDelivery extends VerifiedDelivery {
  readonly file: string | undefined;
  readonly forwarded: PostResult | undefined;
}

/** Parses a delivery and verifies its signature. Throws a UsageError if the key is invalid. */
export function verifyReceivedDelivery(received: {
  number: number;
  at: number;
  path: string;
  body: Buffer;
  headers: Readonly<Record<string, string>>;
  key: string;
}): VerifiedDelivery {
  const given = received.headers[contentHashHeader.toLowerCase()];
  const verdict = given === undefined ? undefined : compareContentHash(given, hashBody(received.key, received.body));
  const { activity, contract_id: contract, contract_kind: kind } = parsePayload(received.body);
  return {
    number: received.number,
    at: new Date(received.at).toISOString(),
    path: received.path,
    bytes: received.body.length,
    verified: verdict?.ok === true,
    reason: verdict === undefined ? "missing" : verdict.ok ? undefined : verdict.reason,
    activity: typeof activity === "string" ? activity : undefined,
    contract_id: typeof contract === "number" ? contract : undefined,
    composite_id: typeof contract === "number" ? `${kind === "EXECUTED_CONTRACT" ? "H" : "T"}-${contract}` : undefined,
  };
}

export function hashBody(key: string, body: Uint8Array): string {
  try {
    return contentHash(key, body);
  } catch (cause) {
    throw toKeyError(cause);
  }
}

const words = {
  missing: "no signature",
  malformed: "malformed signature",
  mismatch: "signature mismatch",
} as const;

/** Formats `--> 03:04:05 CONTRACT_SIGNED [T-12] verified`, and `<-- 200 in 12 ms` for a forwarded delivery. */
export function formatListenedDelivery(listened: ListenedDelivery): StyledLine[] {
  const { at, activity, composite_id: contract, verified, reason, forwarded, file } = listened;
  const about = contract === undefined ? "" : ` [${contract}]`;
  const verdict = verified ? green("verified") : red(words[reason ?? "missing"]);
  const savedAs = file === undefined ? [] : [" ", dim(file)];
  const first = [`--> ${at.slice(11, 19)} ${activity ?? "not a webhook"}${about} `, verdict, ...savedAs];
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

/** Formats the source and target of deliveries for svc webhooks listen and svc dev. */
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
