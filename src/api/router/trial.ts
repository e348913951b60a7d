import * as z from "zod";
import { defineOperation, json, passthrough } from "../operation.ts";
import { routerOperation } from "../services.ts";
import { dictionary, expectedEmail, optionalString } from "../shapes.ts";
import { OAuthProviderType, ProviderSignIn, providerQuery } from "./proxied.ts";

export const TrialSignupDomainModel = z.strictObject({
  id: z.int(),
  token: z.string(),
  email: z.string(),
  oauth_provider: OAuthProviderType.nullish(),
  account_details: dictionary(z.unknown()).nullish(),
});

export const TrialSignupRequest = z.object({
  email: expectedEmail.describe("Address of the person who signs up"),
  captcha: z.string().describe('Captcha response; "fail" always fails'),
});

export const InvitedUser = z.object({ email: expectedEmail, first_name: z.string() });

export const TrialOrgSignUpRequest = z.object({
  token: z.string().describe("Token of the pending signup"),
  first_name: z.string().describe("First name of the person who signs up"),
  // Only the fields that the specification declares as nullable are nullish here (DECISIONS.md, R4).
  last_name: z.string().nullish().describe("Last name of the person who signs up"),
  job_title: z.string().describe("Job title"),
  company_name: z.string().describe("Name of the new workspace"),
  industry: z.string().describe("Industry of the company"),
  use_case: z.string().describe("Use case"),
  cluster_location: z.string().nullish().describe("ID, label or region of a cluster (default: the first)"),
  invited_users: z.array(InvitedUser).nullish().describe("People to invite; they become members when they accept"),
});

const callerHeader = z.object({
  "x-forwarded-for": optionalString.describe("Forwarded addresses; the first one is the caller's"),
});

export const signUpForTrial = defineOperation({
  id: "trial.signup",
  ...routerOperation,
  summary: "Sign up for a trial by e-mail and captcha",
  method: "POST",
  path: "/router/v1/trial/signup",
  request: { body: json(TrialSignupRequest) },
  responses: { 200: json(TrialSignupDomainModel) },
  failures: ["captcha-failed", "account-exists"],
  cli: { command: "trial signup" },
  examples: [{ title: "Start a trial", body: { email: "ada@example.com", captcha: "pass" } }],
});

export const completeTrialSignup = defineOperation({
  id: "trial.complete",
  ...routerOperation,
  summary: "Complete a trial signup, and create the workspace",
  method: "POST",
  path: "/router/v1/trial/signup/complete",
  request: { headers: callerHeader, body: json(TrialOrgSignUpRequest) },
  responses: {
    200: passthrough(
      z.strictObject({
        cluster_id: z.string(),
        workspace_id: z.int().nullish().describe("Null if your own back end does not report it"),
        cluster_url: z.string(),
      }),
    ),
  },
  failures: [
    "unknown-signup-token",
    "unknown-cluster-location",
    "account-exists",
    "cluster-unreachable",
    "cluster-timeout",
  ],
  cli: { command: "trial complete" },
  basis: { assumed: "The input is specified, the response is not (DECISIONS.md, R24)." },
  examples: [
    {
      title: "Create the workspace of a pending signup",
      body: {
        token: "trl_5e1d",
        first_name: "Ada",
        job_title: "Counsel",
        company_name: "Example Ltd",
        industry: "Software",
        use_case: "Sales contracts",
        invited_users: [{ email: "bob@example.com", first_name: "Bob" }],
      },
    },
  ],
});

export const startTrialOAuth = defineOperation({
  id: "trial.oauth",
  ...routerOperation,
  summary: "Start a trial signup by OAuth",
  path: "/router/v1/trial/signup/oauth",
  request: { query: providerQuery },
  responses: { 200: json(ProviderSignIn) },
  cli: { command: "trial oauth" },
  basis: { assumed: "Neither query nor response is specified (DECISIONS.md, R25)." },
  examples: [{ title: "Start a trial signup", query: { provider: "ProviderB" } }],
});

export const finishTrialOAuth = defineOperation({
  id: "trial.oauth-callback",
  ...routerOperation,
  summary: "Receive the provider's response to a trial signup by OAuth",
  path: "/router/v1/trial/signup/oauth/callback",
  request: {
    query: z.object({
      code: z.string().describe("Code of the provider"),
      state: z.string().describe("State of the signup"),
    }),
  },
  responses: { 200: json(TrialSignupDomainModel) },
  failures: ["unknown-state", "unknown-provider-code", "account-exists"],
  cli: { command: "trial oauth-callback" },
  basis: { assumed: "The input is specified, the response is not (DECISIONS.md, R25)." },
  examples: [{ title: "Complete the signup", query: { code: "c0de", state: "st_81" } }],
});
