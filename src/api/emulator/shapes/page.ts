import * as z from "zod";

/** Which part of a list of the control plane is asked for. */
export const pageQuery = {
  limit: z.int().min(1).max(500).default(50).describe("How many at most"),
  offset: z.int().min(0).default(0).describe("How many to pass over first"),
};

/** A part of a list, and how long all of it is. */
export const pageOf = <Row extends z.ZodType>(row: Row) =>
  z.strictObject({ items: z.array(row), total: z.int().describe("How many there are on all pages") });
