import type { StrictCheck } from "../../src/api/strict-checks.ts";
import { specifiedRetrySchedule } from "../../src/api/webhook-retries.ts";
import type { ReceiverRules } from "../http/outgoing/receiver-rules.ts";
import { unreadResponseTimeoutMs } from "../http/respond.ts";
import type { EmulatorOptions } from "../published.d.ts";

type SettingName =
  | "publicUrl"
  | "lenientSlashes"
  | "deterministic"
  | "upstreamTimeoutMs"
  | "chatUpstreamTimeoutMs"
  | "rateLimit"
  | "webhookAllow"
  | "retrySchedule"
  | "workerTick"
  | "webhookSchemes"
  | "traceWebhooks"
  | "webhookJson"
  | "webhookConnectTimeoutMs"
  | "webhookResponseTimeoutMs"
  | "requestLogBytes"
  | "inboxBytes"
  | "unreadAnswerTimeoutMs";

/** The options of one emulator with their values, fixed at the start. */
export interface Settings extends Required<Pick<EmulatorOptions, SettingName>> {
  readonly strict: ReadonlySet<StrictCheck>;
  readonly autoSignMs: number | undefined;
}

export const getReceiverRules = ({ webhookAllow, strict }: Settings): ReceiverRules => ({
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
