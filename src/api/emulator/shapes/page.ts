import * as z from "zod";

/** Which part of a list of the control plane is asked for. */
export const pageQuery = {
  limit: z.int().min(1).max(500).default(50).describe("Maximum number of rows"),
  offset: z.int().min(0).default(0).describe("Number of rows to skip"),
};

/** A part of a list, and how long all of it is. */
export const pageOf = <Row extends z.ZodType>(row: Row) =>
  z.strictObject({ items: z.array(row), total: z.int().describe("Number of rows on all pages") });
