import * as z from "zod";

/** Query of a paged list (contract-api-facts.md, 2.5). */
export const paging = {
  page: z.int().min(1).default(1).describe("From 1"),
  limit: z.int().min(1).max(100).default(10).describe("Rows on a page"),
};

/** A page of rows (contract-api-facts.md, 4.11). */
export const pageOf = <Row extends z.ZodType>(row: Row) =>
  z.strictObject({ page: z.int(), limit: z.int(), total_results: z.int(), results: z.array(row) });
