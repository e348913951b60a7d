import * as z from "zod";

/** Which part of a list of the control plane is asked for. */
export const pageQuery = {
  limit: z.int().min(1).max(500).default(50).describe("Maximum number of rows"),
  offset: z.int().min(0).default(0).describe("Number of rows to skip"),
};

/** A part of a list, and how long all of it is. */
export const defineItemPage = <Row extends z.ZodType>(row: Row) =>
  z.strictObject({ items: z.array(row), total: z.int().describe("Number of rows on all pages") });

/** Which contract what is listed is to be of, in both forms in which people have its id. */
export const contractFilter = z
  .string()
  .regex(/^([TH]-)?[1-9]\d{0,14}$/, "must be the ID of a contract (12, T-12)")
  .optional()
  .describe("Show only this contract: 12 or T-12");

/** How long what awaits an attempt may take, in ms: receivers have a minute to answer (DECISIONS.md, C20). */
export const receiversMs = 70_000;
