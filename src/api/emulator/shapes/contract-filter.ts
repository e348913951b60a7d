import * as z from "zod";

/** Which contract what is listed is to be of, in both forms in which people have its id. */
export const contractFilter = z
  .string()
  .regex(/^([TH]-)?[1-9]\d{0,14}$/, "must be the ID of a contract (12, T-12)")
  .optional()
  .describe("Show only this contract: 12 or T-12");
