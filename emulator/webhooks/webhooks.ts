import * as z from "zod";
import { type Activity, activities } from "../../src/api/activities.ts";
import type { fireActivity } from "../../src/api/emulator/activities.ts";
import type { Fail } from "../../src/api/failures.ts";
import type { InputOf } from "../../src/api/operation.ts";
import { dictionary } from "../../src/api/shapes.ts";
import { defineNumberedRows, storedTime, type Transaction } from "../store/port.ts";

/** `DISABLED_BY_ERROR` is set after six failures (DECISIONS.md, F20 and C18). */
export const WebhookStatus = z.enum(["ACTIVE", "DISABLED_BY_USER", "DISABLED_BY_ERROR"]);
export type WebhookStatus = z.infer<typeof WebhookStatus>;

export const Webhook = z.strictObject({
  id: z.int(),
  workspace_id: z.int(),
  cluster_id: z.string(),
  title: z.string(),
  description: z.string().nullable(),
  url: z.string(),
  only_for_activities: z.array(z.enum(activities)),
  custom_headers: dictionary(z.string()),
  status: WebhookStatus,
  /** Number of attempts without a 2xx response since the last 2xx response, over all deliveries (DECISIONS.md, C18). */
  failure_count: z.int(),
  /** Time and cause (`request:12`, `attempt:3.6`) of the status. Null while the webhook is active, or if unknown. */
  disabled: z.strictObject({ at: storedTime(z.int()), by: z.string().nullable() }).nullable(),
  /** ID of the user who created it. */
  created_by: z.int(),
  /** Virtual milliseconds. */
  created_at: storedTime(z.int()),
});
export type Webhook = z.infer<typeof Webhook>;

export const webhookRows = defineNumberedRows("webhook_subscriptions", "webhook", Webhook, {
  workspace: (row) => row.workspace_id,
  activity: (row) => row.only_for_activities.map((activity) => toActivityKey(row.workspace_id, activity)),
});

export const toActivityKey = (workspaceId: number, activity: Activity): string => `${workspaceId}:${activity}`;

/** Attempts with this key share a capacity of `6 − counter` (DECISIONS.md, C18). */
export const toConcurrencyKey = (webhookId: number): string => `webhook:${webhookId}`;

/**
 * Enables or disables a webhook. Enabling resets the counter and resends nothing. Returns undefined if the webhook does
 * not exist. `at` is in virtual milliseconds (DECISIONS.md, C18).
 */
export function setWebhookEnabled(tx: Transaction, id: number, isEnabled: boolean, at: number) {
  const row = tx.get(webhookRows, id);
  if (!row || (!isEnabled && row.status === "DISABLED_BY_USER")) return row;
  const updatedWebhook: Webhook = isEnabled
    ? { ...row, status: "ACTIVE", failure_count: 0, disabled: null }
    : { ...row, status: "DISABLED_BY_USER", disabled: { at, by: tx.cause?.id ?? null } };
  tx.put(webhookRows, updatedWebhook);
  return updatedWebhook;
}

/** Changes to a body, by field path: `counterparties.0.poc_email`. */
type Amendments = Pick<InputOf<typeof fireActivity>["body"], "overrides" | "additions" | "removals">;

type AmendmentFailure = Fail<"no-such-field" | "field-exists">;

type AmendedParent = Record<string, unknown> | unknown[];

/** Returns a copy. Additions come last, so that a field can be removed and added again. */
export function applyAmendments(
  body: object,
  { overrides, additions, removals }: Amendments,
  fail: AmendmentFailure,
): object {
  if (!overrides && !additions && !removals) return body;
  const copy = structuredClone(body);
  const findParent = (path: string) => findPosition(copy, path, fail);
  for (const [path, value] of Object.entries(overrides ?? {})) {
    const { parent, step } = findParent(path);
    getKnownField(parent, step, path, fail);
    setField(parent, step, value);
  }
  for (const path of removals ?? []) {
    const { parent, step } = findParent(path);
    getKnownField(parent, step, path, fail);
    if (Array.isArray(parent)) parent.splice(Number(step), 1);
    else delete parent[step];
  }
  for (const [path, value] of Object.entries(additions ?? {})) {
    const { parent, step } = findParent(path);
    if (listFields(parent).includes(step)) fail("field-exists", { path });
    // A gap in a list would be null in the JSON text.
    if (Array.isArray(parent) && Number(step) !== parent.length) rejectMissing(path, listFields(parent), fail);
    setField(parent, step, value);
  }
  return copy;
}

function findPosition(body: object, path: string, fail: AmendmentFailure): { parent: AmendedParent; step: string } {
  const steps = path.split(".");
  const step = steps.pop()!;
  const parent = steps.reduce<unknown>((current, item) => getKnownField(current, item, path, fail), body);
  if (typeof parent !== "object" || parent === null) rejectMissing(path, [], fail);
  return { parent: parent as AmendedParent, step };
}

function getKnownField(parent: unknown, step: string, path: string, fail: AmendmentFailure): unknown {
  const fields = listFields(parent);
  return fields.includes(step) ? (parent as Record<string, unknown>)[step] : rejectMissing(path, fields, fail);
}

/** `fields` lists the fields at the position where the path ends. */
const rejectMissing = (path: string, fields: readonly string[], fail: AmendmentFailure): never =>
  fail("no-such-field", { path, known: fields.join(", ") || "nothing" });

const setField = (parent: AmendedParent, step: string, value: unknown): void =>
  void Object.defineProperty(parent, step, { value, writable: true, enumerable: true, configurable: true });

/** A key with the value undefined is omitted in the JSON text. */
const listFields = (parent: unknown): string[] =>
  typeof parent === "object" && parent !== null
    ? Object.entries(parent).flatMap(([name, value]) => (value === undefined ? [] : [name]))
    : [];
