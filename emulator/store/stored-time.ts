import type * as z from "zod";

/** The last timestamp, after which time stands still: years with five digits cannot be written. */
export const lastMoment = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const firstMoment = Date.parse("0000-01-01T00:00:00Z");
const yearMs = 366 * 86_400_000;

/** When something happened, as rows hold it: milliseconds since the epoch that can be written as a timestamp. */
export const storedTime = <S extends z.ZodType<number>>(number: S): S =>
  number.refine((ms) => ms >= firstMoment && ms <= lastMoment, "Time is outside the years 0 to 9999");

/** A time at which something is scheduled or ends, also just before the last moment. */
export const storedDeadline = <S extends z.ZodType<number>>(number: S): S =>
  number.refine((ms) => ms >= firstMoment && ms <= lastMoment + yearMs, "Time is outside the years 0 to 9999");
