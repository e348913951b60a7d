import type { StrictCheck } from "../../src/api/strict-checks.ts";
import { type RetrySchedule, specifiedRetrySchedule } from "../../src/api/webhook-retries.ts";
import type { WebhookJsonForm } from "../../src/base/json-forms.ts";
import type { WebhookSchemeName } from "../../src/schemes/webhook-schemes.ts";
import type { ReceiverRules } from "../http/outgoing/receiver-rules.ts";
import { unreadResponseTimeoutMs } from "../http/sending/response-writer.ts";

/** How one emulator was told to behave. Plain values, fixed at start. */
export interface Settings {
  /** What clients believe the router's URL to be, without a slash at the end: the issuer, links, signature bases. */
  readonly publicUrl: string;
  readonly strict: ReadonlySet<StrictCheck>;
  /** Serve both spellings of a path instead of redirecting (DECISIONS.md, C3). */
  readonly lenientSlashes: boolean;
  /** Ids, keys and times from the seed, one thing at a time: the same calls at the same port give the same bytes. */
  readonly deterministic: boolean;
  /** How long the router waits for a cluster, wall time (DECISIONS.md, R12). */
  readonly upstreamTimeoutMs: number;
  readonly chatUpstreamTimeoutMs: number;
  /** Requests a second per workspace on the wall clock; 0 is no limit (DECISIONS.md, C4). */
  readonly rateLimit: number;
  /** Hosts beside loopback that webhooks may be sent to: `host`, `host:port` or `*.domain`. */
  readonly webhookAllow: readonly string[];
  /** How long after a failed attempt of a webhook the next one is made, in workspaces that have no schedule of their own. */
  readonly retrySchedule: RetrySchedule;
  /** Round attempts up to the next whole minute, as the real retry worker does (DECISIONS.md, C19). */
  readonly workerTick: boolean;
  /** Sign webhooks by these schemes, too: `standard`, which is Standard Webhooks (DECISIONS.md, P20). */
  readonly webhookSchemes: readonly WebhookSchemeName[];
  /** Add a W3C `traceparent` to webhooks (DECISIONS.md, E12). */
  readonly traceWebhooks: boolean;
  /** How the JSON of webhooks is written; `mixed`: in turn (DECISIONS.md, C17). */
  readonly webhookJson: WebhookJsonForm;
  /** Let every signatory sign by itself after this much virtual time; undefined: nobody signs (DECISIONS.md, C11). */
  readonly autoSignMs: number | undefined;
  /** Per attempt, on the wall clock (the specification, Limits). */
  readonly webhookConnectTimeoutMs: number;
  readonly webhookResponseTimeoutMs: number;
  /** How much of the requests received is kept in memory, over all listeners. */
  readonly requestLogBytes: number;
  /** How much of what is forwarded to each emulated cluster is kept in memory. */
  readonly inboxBytes: number;
  /** How long a caller may take nothing of its answer before it is cut off, on the wall clock. */
  readonly unreadAnswerTimeoutMs: number;
}

/** Where webhooks may be sent. */
export const receiverRules = ({ webhookAllow, strict }: Settings): ReceiverRules => ({
  allow: webhookAllow,
  strict: strict.has("receivers"),
});

export const defaultSettings: Settings = {
  publicUrl: "http://127.0.0.1:4010",
  strict: new Set(),
  lenientSlashes: false,
  deterministic: false,
  upstreamTimeoutMs: 30_000,
  chatUpstreamTimeoutMs: 2_500,
  rateLimit: 0,
  webhookAllow: [],
  retrySchedule: specifiedRetrySchedule,
  workerTick: false,
  webhookSchemes: [],
  traceWebhooks: false,
  webhookJson: "compact",
  autoSignMs: undefined,
  webhookConnectTimeoutMs: 5_000,
  webhookResponseTimeoutMs: 60_000,
  requestLogBytes: 4 * 1024 * 1024,
  inboxBytes: 4 * 1024 * 1024,
  unreadAnswerTimeoutMs: unreadResponseTimeoutMs,
};
