import * as z from "zod";
import { OAuthProviderType } from "../../../src/api/router/proxied.ts";
import { dictionary } from "../../../src/api/shapes.ts";
import { hashEmail, toAddressKey } from "../../../src/base/email-address.ts";
import { defineNumberedRows, defineRows, type View } from "../../store/port.ts";
import type { RouterContext } from "../context.ts";
import { mappingTables } from "../mapping/tables.ts";

const TrialAnswers = z.strictObject({
  first_name: z.string(),
  last_name: z.string().nullable(),
  job_title: z.string(),
  company_name: z.string(),
  industry: z.string(),
  use_case: z.string(),
  cluster_location: z.string().nullable(),
  invited_users: z.array(z.strictObject({ email: z.string(), first_name: z.string() })),
});
export type TrialAnswers = z.infer<typeof TrialAnswers>;

// The stored schema has no description.
const Provider = z.enum(OAuthProviderType.options);

/** A trial signup, which is pending until its workspace exists (DECISIONS.md, R23 to R25). */
const TrialSignup = z.strictObject({
  id: z.int(),
  token: z.string(),
  email: z.string(),
  oauth_provider: Provider.nullable(),
  account_details: dictionary(z.unknown()).nullable(),
  /** True while a cluster is creating the workspace. */
  claimed: z.boolean(),
  /** `workspace_id` is null if an external back end did not return the ID. */
  workspace: z.strictObject({ cluster_id: z.string(), workspace_id: z.int().nullable() }).nullable(),
  /** Null until the workspace exists. */
  answers: TrialAnswers.nullable(),
});
export type TrialSignup = z.infer<typeof TrialSignup>;

export const trialSignups = defineNumberedRows("trial_signups", "trial_signup", TrialSignup, {
  token: (row) => row.token,
  email: (row) => toAddressKey(row.email),
  claimed: (row) => (row.claimed ? 1 : undefined),
});

/** States of pending OAuth signups. Each is valid for one callback. */
export const trialStates = defineRows({
  name: "trial_states",
  schema: z.strictObject({ state: z.string(), provider: Provider }),
  key: (row) => row.state,
});

export async function findSignupByEmail(view: View, email: string): Promise<TrialSignup | undefined> {
  const [signup] = await view.list(trialSignups, { by: "email", equals: toAddressKey(email), limit: 1 });
  return signup;
}

/** Completing the signup of a mapped address would move a user to another cluster (DECISIONS.md, R23). */
export const isEmailTaken = async (
  view: View,
  { hasAccount }: Pick<RouterContext, "hasAccount">,
  signup: { readonly email: string; readonly token?: string | undefined },
): Promise<boolean> =>
  (await view.lookup(mappingTables.cluster_emails, hashEmail(signup.email))) !== undefined ||
  (await hasAccount(view, signup));

export async function findSignupByToken(view: View, token: string): Promise<TrialSignup | undefined> {
  const [found] = await view.list(trialSignups, { by: "token", equals: token, limit: 1 });
  return found;
}
