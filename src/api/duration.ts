import * as z from "zod";
import { durationPattern, parseDuration } from "../base/duration.ts";

/** A length of time that is more than none; the refusal shows such as `like`. */
export const duration = (like: string) =>
  z
    .string()
    .refine((text) => (parseDuration(text) ?? 0) > 0, `must be a duration (${like.replace(" or ", ", ")})`)
    .meta({ pattern: durationPattern });

const maxDelayMs = 365 * 86_400_000;

/** The delays before the retries of a webhook. An empty list: none. */
export const retrySchedule = z
  .array(duration("5m or PT5M").refine((text) => (parseDuration(text) ?? 0) <= maxDelayMs, "must be at most 365 days"))
  .max(100)
  .readonly();
