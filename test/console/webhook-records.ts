import type { Delivery, Webhook } from "../../src/api/webhook-health/attempts.ts";
import { specifiedRetrySchedule } from "../../src/api/webhook-retries.ts";

export const begin = Date.parse("2031-01-02T03:04:05Z");
const minute = 60_000;
export const formatIsoTime = (minutes: number) => new Date(begin + minutes * minute).toISOString();

export const createWebhook = (overrides: Partial<Webhook> = {}): Webhook => ({
  id: 1,
  cluster_id: "eu-1",
  workspace_id: 1,
  workspace: "Northwind",
  title: "Mine",
  url: "http://127.0.0.1:9/hooks",
  only_for_activities: ["CONTRACT_CREATED"],
  custom_headers: [],
  status: "ACTIVE",
  failure_count: 0,
  disabled_at: null,
  disabled_by: null,
  retry_schedule: [...specifiedRetrySchedule],
  forbidden: null,
  created_at: formatIsoTime(0),
  ...overrides,
});

/** A delivery with an attempt at each of the minutes; the last one is answered 200 where it arrived. */
export const createDelivery = (
  id: number,
  minutes: readonly number[],
  overrides: Partial<Delivery> = {},
): Delivery => ({
  id,
  webhook_id: 1,
  workspace_id: 1,
  activity: "CONTRACT_CREATED",
  contract_id: 1,
  composite_id: "T-1",
  webhook_status: "ACTIVE",
  outcome: "retrying",
  status_text: "retrying",
  postponement: null,
  max_attempts: 7,
  next_attempt_at: null,
  created_at: formatIsoTime(0),
  last_response: null,
  attempts: minutes.map((at, before) => ({
    number: before + 1,
    resend: false,
    scheduled_number: before + 1,
    planned_at: formatIsoTime(at),
    at: formatIsoTime(at),
    status: overrides.outcome === "delivered" && before === minutes.length - 1 ? 200 : 503,
    error: null,
    duration_ms: 1,
    fault: null,
    response: null,
  })),
  ...overrides,
});
