import { filterScheduled, formatAttemptNumber, hasSucceeded } from "../../api/webhook-health/attempts.ts";
import { failuresUntilDisabled, getRetryDelayMs } from "../../api/webhook-retries.ts";
import { groupBy } from "../../base/object.ts";
import { formatAttemptName, toStatusLabel } from "../deliveries/explain.ts";
import { formatElapsed, type Tone } from "../format.ts";
import type { Delivery, Webhook } from "../state/deliveries.ts";

/** One attempt in its track: made, planned, or assumed if the planned attempts fail. */
export interface AttemptMark {
  readonly key: string;
  /** Label, such as `attempt 3 of 7, at +15 min, 503`. */
  readonly name: string;
  readonly delivery: number;
  readonly webhook: number;
  /** Second of virtual time that contains the attempt. */
  readonly at: number;
  readonly kind: "made" | "planned" | "supposed";
  readonly tone: Tone;
  readonly x: number;
  /** Position from the top, because marks of one moment are stacked. */
  readonly slot: number;
  /** Number of marks of the same moment that are not drawn. */
  readonly more?: number;
}

export interface Track {
  /** The webhook; undefined if it was deleted. */
  readonly webhook: Webhook | undefined;
  readonly id: number;
  readonly marks: readonly AttemptMark[];
  readonly slots: number;
}

type Moment = Omit<AttemptMark, "x" | "slot">;

/** Maximum number of marks at one moment in one track. A number stands for the rest. */
const maxStacked = 3;
/** Maximum number of waiting deliveries whose possible retries are drawn. */
const maxSupposed = 12;

const toSecond = (at: string): number => Math.floor(Date.parse(at) / 1_000) * 1_000;

/**
 * Arranges all attempts in the tracks of their webhooks, on an axis of virtual time. Deleted webhooks come last. `now`
 * is rounded to seconds.
 */
export function buildTimeline(deliveries: readonly Delivery[], webhooks: readonly Webhook[], now: number) {
  const byTrack = new Map<number, Moment[]>(webhooks.map(({ id }) => [id, []]));
  const hooks = new Map(webhooks.map((webhook) => [webhook.id, webhook]));
  const waiting = deliveries.filter(({ next_attempt_at: next }) => next !== null).length;
  for (const delivery of deliveries) {
    const track = byTrack.get(delivery.webhook_id) ?? [];
    byTrack.set(delivery.webhook_id, track);
    for (const attempt of delivery.attempts) track.push(toMadeMark(delivery, attempt));
    if (delivery.attempts.length === 0 && delivery.outcome.startsWith("skipped")) track.push(toSkippedMark(delivery));
    track.push(...toPlannedMarks(delivery, hooks.get(delivery.webhook_id), waiting <= maxSupposed));
  }
  const axis = layOutAxis([now, ...[...byTrack.values()].flat().map(({ at }) => at)]);
  const places = new Map(axis.ticks.map(({ at, x }) => [at, x]));
  const tracks = [...byTrack].map(([id, moments]) => toTrack(id, hooks.get(id), moments, places));
  const isGone = ({ webhook }: Track) => Number(webhook === undefined);
  return { axis, tracks: tracks.sort((a, b) => isGone(a) - isGone(b) || a.id - b.id), now: places.get(now)! };
}

function toMadeMark(delivery: Delivery, attempt: Delivery["attempts"][number]): Moment {
  return {
    key: `${delivery.id}.${attempt.number}`,
    name: formatAttemptName(attempt, delivery),
    delivery: delivery.id,
    webhook: delivery.webhook_id,
    kind: "made",
    tone: hasSucceeded(attempt) ? "good" : "bad",
    at: toSecond(attempt.at),
  };
}

/** A skip has no attempt, so it is drawn at the time of the skip. */
const toSkippedMark = (delivery: Delivery): Moment => ({
  key: `${delivery.id}.skipped`,
  name: toStatusLabel(delivery).words,
  delivery: delivery.id,
  webhook: delivery.webhook_id,
  kind: "made",
  tone: "none",
  at: toSecond(delivery.created_at),
});

function toPlannedMarks(delivery: Delivery, webhook: Webhook | undefined, isAssumed: boolean): Moment[] {
  const { id, next_attempt_at: next, created_at } = delivery;
  if (next === null) return [];
  const made = filterScheduled(delivery.attempts).length;
  const createdAt = Date.parse(created_at);
  const isSkipped = webhook?.status !== "ACTIVE";
  const mark = (number: number, at: number, kind: "planned" | "supposed", words: string): Moment => ({
    key: `${id}.${kind}.${number}`,
    name: `${formatAttemptNumber(number, delivery)}, ${words} at +${formatElapsed(at - createdAt)}`,
    delivery: id,
    webhook: delivery.webhook_id,
    kind,
    tone: isSkipped ? "none" : "open",
    at: Math.floor(at / 1_000) * 1_000,
  });
  const first = Date.parse(next);
  const out = [mark(made + 1, first, "planned", isSkipped ? "will be skipped" : "planned")];
  if (isSkipped || !isAssumed) return out;
  let at = first;
  for (let number = made + 2; number <= made + failuresUntilDisabled - (webhook?.failure_count ?? 0); number += 1) {
    const delay = webhook && getRetryDelayMs(webhook.retry_schedule, number - 1);
    if (delay === undefined) break;
    at += delay;
    out.push(mark(number, at, "supposed", "if all earlier attempts fail,"));
  }
  return out;
}

function toTrack(
  id: number,
  webhook: Webhook | undefined,
  moments: readonly Moment[],
  places: ReadonlyMap<number, number>,
): Track {
  const byPlace = groupBy(moments, ({ at }) => places.get(at)!);
  let slots = 1;
  const marks = [...byPlace]
    .sort(([a], [b]) => a - b)
    .flatMap(([x, group]) => {
      // Failures come first.
      const sorted = group.sort(
        (a, b) => Number(b.tone === "bad") - Number(a.tone === "bad") || a.delivery - b.delivery,
      );
      const shown = sorted.length > maxStacked ? sorted.slice(0, maxStacked - 1) : sorted;
      const rest = sorted.length - shown.length;
      slots = Math.max(slots, shown.length + (rest > 0 ? 1 : 0));
      const marks: AttemptMark[] = shown.map((moment, slot) => ({ ...moment, x, slot }));
      return rest > 0 ? [...marks, toMoreMark(sorted.slice(shown.length), x, shown.length)] : marks;
    });
  return { id, webhook, marks, slots };
}

function toMoreMark(rest: readonly Moment[], x: number, slot: number): AttemptMark {
  const failedCount = rest.filter(({ tone }) => tone === "bad").length;
  const first = rest[0]!;
  return {
    ...first,
    key: `${first.key}.more`,
    name: `${rest.length} more at this time${failedCount > 0 ? `, ${failedCount} failed` : ""}`,
    tone: failedCount > 0 ? "bad" : first.tone,
    more: rest.length,
    x,
    slot,
  };
}

/** A position on the axis: a moment, and its distance from the left. */
interface Tick {
  readonly at: number;
  readonly x: number;
  /** Idle time before this moment that is drawn compressed: `1 h 15 min`. */
  readonly gap?: string;
}

/** A label with a date extends by half of its width before its moment. */
const leadWidth = 60;
/** Minimum distance, at which adjacent marks do not touch. */
const step = 30;
const collapsed = 84;

/** Computes the distance between two moments: seconds are adjacent, and idle time is not longer than a label. */
const computeDistance = (gap: number): number => (gap >= 60_000 ? collapsed : gap >= 10_000 ? step + 8 : step);

/** Lays out distinct moments from left to right, in milliseconds, and compresses idle time. */
export function layOutAxis(moments: readonly number[]) {
  const sorted = [...new Set(moments)].sort((a, b) => a - b);
  const ticks: Tick[] = [];
  let x = leadWidth;
  for (const [place, at] of sorted.entries()) {
    const gap = place === 0 ? 0 : at - sorted[place - 1]!;
    if (place > 0) x += computeDistance(gap);
    ticks.push({ at, x, ...(gap >= 60_000 ? { gap: formatElapsed(gap) } : {}) });
  }
  return { ticks, width: x + 2 * collapsed };
}
