import * as z from "zod";

/** A user of the workspace, as bodies name one (contract-api-facts.md, 3.2, 4.6, 5.1). */
export const OrgUser = z.strictObject({
  id: z.int(),
  name: z.string(),
  email: z.string(),
  designation: z.string().nullable(),
});
