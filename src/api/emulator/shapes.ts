import * as z from "zod";
import { nullableString, timestamp } from "../shapes.ts";

/** Query parameters that select a page of a control plane list. */
export const pageQuery = {
  limit: z.int().min(1).max(500).default(50).describe("Maximum number of rows"),
  offset: z.int().min(0).default(0).describe("Number of rows to skip"),
};

/** Defines a page of a list, with the length of the whole list. */
export const defineItemPage = <Row extends z.ZodType>(row: Row) =>
  z.strictObject({ items: z.array(row), total: z.int().describe("Number of rows on all pages") });

/** Restricts a list to one contract, by either form of its ID. */
export const contractFilter = z
  .string()
  .regex(/^([TH]-)?[1-9]\d{0,14}$/, "must be the ID of a contract (12, T-12)")
  .optional()
  .describe("Show only this contract: 12 or T-12");

/**
 * Time limit in ms of an operation that waits for an attempt. Receivers have one minute to respond (DECISIONS.md, C20).
 */
export const receiverTimeoutMs = 70_000;

export const Device = z.strictObject({
  user_code: z.string().describe("User code that the device shows"),
  client_id: z.string(),
  status: z.enum(["PENDING", "AUTHORIZED", "DENIED"]),
  cluster_id: nullableString.describe("Cluster of the person who decides; null until the page is opened"),
  expires_at: timestamp.describe("Virtual time"),
  redeemed: z.boolean().describe("The device has its tokens"),
});
