import * as z from "zod";

/** Query of a paged list (DECISIONS.md, F6). */
export const paging = {
  page: z.int().min(1).default(1).describe("Page number, from 1"),
  limit: z.int().min(1).max(100).default(10).describe("Rows per page"),
};

/** A page of rows (DECISIONS.md, F18). */
export const pageOf = <Row extends z.ZodType>(row: Row) =>
  z.strictObject({ page: z.int(), limit: z.int(), total_results: z.int(), results: z.array(row) });
