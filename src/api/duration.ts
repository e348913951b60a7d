import * as z from "zod";
import { durationPattern, parseDuration } from "../base/duration.ts";

/** A length of time that is more than none; the refusal shows such as `like`. */
export const duration = (like: string) =>
  z
    .string()
    .refine((text) => (parseDuration(text) ?? 0) > 0, `must be a duration (${like.replace(" or ", ", ")})`)
    .meta({ pattern: durationPattern });
