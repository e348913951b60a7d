import * as z from "zod";

/** Where the router asks a cluster to create the workspace of a completed signup. The path is our own. */
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
  invited_users: z.array(z.object({ email: z.string(), first_name: z.string() })),
});
export type NewWorkspace = z.infer<typeof NewWorkspace>;

/** What the cluster answers, for the router to map. */
export const CreatedWorkspace = z.object({
  workspace_id: z.int(),
  client_id: z.string(),
  creator_tokens: z.array(z.string()),
});
export type CreatedWorkspace = z.infer<typeof CreatedWorkspace>;
