import * as z from "zod";

/** A user of the workspace, as bodies name one (DECISIONS.md, F8, F13, F20). */
export const OrgUser = z.strictObject({
  id: z.int(),
  name: z.string(),
  email: z.string(),
  designation: z.string().nullish(),
});
