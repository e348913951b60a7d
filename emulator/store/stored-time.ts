import type * as z from "zod";

/** The last timestamp. Time stops there, because years with five digits cannot be written. */
export const lastMoment = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const firstMoment = Date.parse("0000-01-01T00:00:00Z");
const yearMs = 366 * 86_400_000;

/** The time of an event in a row: milliseconds since the epoch, within the range of timestamps. */
export const storedTime = <S extends z.ZodType<number>>(number: S): S =>
  number.refine((ms) => ms >= firstMoment && ms <= lastMoment, "Time is outside the years 0 to 9999");

/** The time of a scheduled entry or a deadline, within the range of timestamps. */
export const storedDeadline = <S extends z.ZodType<number>>(number: S): S =>
  number.refine((ms) => ms >= firstMoment && ms <= lastMoment + yearMs, "Time is outside the years 0 to 9999");
