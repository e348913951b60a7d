import * as z from "zod";

/** Query parameters that select a page of a control plane list. */
export const pageQuery = {
  limit: z.int().min(1).max(500).default(50).describe("Maximum number of rows"),
  offset: z.int().min(0).default(0).describe("Number of rows to skip"),
};

/** Defines a page of a list, with the length of the whole list. */
export const defineItemPage = <Row extends z.ZodType>(row: Row) =>
  z.strictObject({ items: z.array(row), total: z.int().describe("Number of rows on all pages") });

/** Restricts a list to one contract, by either form of its id. */
export const contractFilter = z
  .string()
  .regex(/^([TH]-)?[1-9]\d{0,14}$/, "must be the ID of a contract (12, T-12)")
  .optional()
  .describe("Show only this contract: 12 or T-12");

/**
 * Time limit in ms of an operation that waits for an attempt. Receivers have one minute to respond (DECISIONS.md, C20).
 */
export const receiverTimeoutMs = 70_000;
