import type * as z from "zod";

/** The last timestamp. Time stops there, because years with five digits cannot be written. */
export const lastTimestampMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const firstTimestampMs = Date.parse("0000-01-01T00:00:00Z");
const yearMs = 366 * 86_400_000;

const limitTime = <S extends z.ZodType<number>>(number: S, maxMs: number): S =>
  number.refine((ms) => ms >= firstTimestampMs && ms <= maxMs, "Time is outside the years 0 to 9999");

/** The time of an event in a row: milliseconds since the epoch, within the range of timestamps. */
export const storedTime = <S extends z.ZodType<number>>(number: S): S => limitTime(number, lastTimestampMs);

/** The time of a scheduled entry or a deadline, which can be up to a year after the last timestamp. */
export const storedDeadline = <S extends z.ZodType<number>>(number: S): S =>
  limitTime(number, lastTimestampMs + yearMs);
