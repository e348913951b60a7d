import * as z from "zod";

/** Where the router asks an emulated cluster to create the workspace of a completed signup. The path is our own. */
export const newWorkspacePath = "/api/v1/organization/trial_signup/";

/** What it sends, with the cluster's key in `x-cluster-key`. */
export const NewWorkspace = z.object({
  /** The same token again is the same workspace: the router may have been stopped before it learned of it. */
  signup_token: z.string(),
  email: z.string(),
  first_name: z.string(),
  last_name: z.string().nullable(),
  job_title: z.string(),
  company_name: z.string(),
  industry: z.string(),
  use_case: z.string(),
  invited_users: z.array(z.object({ email: z.string(), first_name: z.string() })),
});
export type NewWorkspace = z.infer<typeof NewWorkspace>;

/** What a cluster answers, for the router to map: of a back end that is not ours, whatever it tells. */
export const CreatedWorkspace = z.object({
  workspace_id: z.int().nullable().catch(null),
  client_id: z.string().nullable().catch(null),
  creator_tokens: z.array(z.string()).catch([]),
});
export type CreatedWorkspace = z.infer<typeof CreatedWorkspace>;
