import * as z from "zod";
import type { InputOf } from "../../../src/api/operation.ts";
import { OAuthProviderType } from "../../../src/api/router/proxied.ts";
import type * as declared from "../../../src/api/router/trial.ts";
import { dictionary } from "../../../src/api/shapes.ts";
import { hashEmail, toAddressKey } from "../../../src/base/email-address.ts";
import type { Cluster } from "../../domain/clusters.ts";
import { NewWorkspaceRequest, NewWorkspaceResponse, newWorkspacePath } from "../../domain/workspaces.ts";
import type { ForwardableRequest } from "../../http/outgoing/forward.ts";
import { createJsonPassthrough } from "../../http/reply.ts";
import { defineNumberedRows, defineRows, type Transaction, type View } from "../../store/port.ts";
import type { RouterCall, RouterContext, RouterHandler } from "../context.ts";
import { mappingTables } from "../mapping/tables.ts";
import { sandboxExternalPage } from "../proxied/forward.ts";
import { type ClusterResponse, requestCluster } from "../proxied/request-cluster.ts";

const { invited_users } = NewWorkspaceRequest.shape;
const TrialAnswers = NewWorkspaceRequest.omit({ signup_token: true, email: true, invited_users: true })
  .extend({ cluster_location: z.string().nullable(), invited_users })
  .strict();
type TrialAnswers = z.infer<typeof TrialAnswers>;

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

/** Completed signups of the address do not count: its workspace may have been removed. */
export function findPendingSignup(view: View, email: string): TrialSignup | undefined {
  const signups = view.list(trialSignups, { by: "email", equals: toAddressKey(email) });
  return signups.find(({ workspace }) => workspace === null);
}

/** Completing the signup of a mapped address would move a user to another cluster (DECISIONS.md, R23). */
export const isEmailTaken = (
  view: View,
  { hasAccount }: Pick<RouterContext, "hasAccount">,
  signup: { readonly email: string; readonly token?: string | undefined },
): boolean =>
  view.lookup(mappingTables.cluster_emails, hashEmail(signup.email)) !== undefined || hasAccount(view, signup);

type SignupForm = InputOf<typeof declared.completeTrialSignup>["body"];
type RejectionCode =
  | "unknown-signup-token"
  | "unknown-cluster-location"
  | "account-exists"
  | "cluster-unreachable"
  | "cluster-timeout";

/**
 * Completes a signup: its cluster creates the workspace, and the router maps its identifiers. The signup is claimed
 * during the request to the cluster and becomes valid again if the request fails. Rejections of the cluster are
 * forwarded (DECISIONS.md, R24, E4).
 */
export const completeTrialSignup: RouterHandler<"trial.complete"> = async ({ body }, call) => {
  const { store } = call;
  const { signup, cluster } = await claimSignup(call, body);
  const completionRequest = cluster.external ? call.request : createWorkspaceRequest(call, cluster, signup, body);
  const response = await requestWorkspace(call, cluster, completionRequest).catch(async (error: unknown) => {
    await endSignupClaim(store, signup, () => null);
    throw error;
  });
  if (response.status >= 300) {
    await endSignupClaim(store, signup, () => null);
    return sandboxExternalPage(cluster, response.passthrough);
  }
  const { workspace_id, client_id, creator_tokens } = NewWorkspaceResponse.parse(response.body ?? {});
  const isMapped = await endSignupClaim(
    store,
    signup,
    (tx) => {
      // The address can have been mapped during the request to the cluster.
      if (isEmailTaken(tx, call, signup)) return null;
      if (client_id !== null) tx.map(mappingTables.cluster_clients, cluster.id, [client_id]);
      tx.map(mappingTables.cluster_emails, cluster.id, [hashEmail(signup.email)]);
      tx.map(mappingTables.creator_tokens, cluster.id, creator_tokens);
      return { cluster_id: cluster.id, workspace_id };
    },
    readAnswers(body),
  );
  if (!isMapped) {
    call.finding("workspace-not-mapped", `${cluster.id} created workspace ${workspace_id} without a pending signup`);
    call.fail("account-exists");
  }
  return createJsonPassthrough(200, { cluster_id: cluster.id, workspace_id, cluster_url: new URL(cluster.url).href });
};

/** Stores whether the signup has its workspace, unless the state was replaced during the request to the cluster. */
const endSignupClaim = (
  store: RouterCall["store"],
  { id }: TrialSignup,
  createWorkspace: (tx: Transaction) => TrialSignup["workspace"],
  trialAnswers: TrialAnswers | null = null,
): Promise<boolean> =>
  store.transaction("trial.complete: end of the claim", (tx) => {
    const signup = tx.get(trialSignups, id);
    if (!signup?.claimed) return true;
    const workspace = createWorkspace(tx);
    tx.put(trialSignups, { ...signup, claimed: false, workspace, answers: workspace && trialAnswers });
    return workspace !== null;
  });

const claimSignup = (
  call: RouterCall<RejectionCode>,
  { token, cluster_location }: SignupForm,
): Promise<{ readonly signup: TrialSignup; readonly cluster: Cluster }> =>
  call.store.transaction("trial.complete", (tx) => {
    const { clusters, fail } = call;
    const [signup] = tx.list(trialSignups, { by: "token", equals: token, limit: 1 });
    // Another request is completing the signup.
    if (!signup || signup.workspace || signup.claimed) return fail("unknown-signup-token");
    const cluster =
      findClusterAt(clusters, cluster_location) ??
      fail("unknown-cluster-location", { location: cluster_location ?? "" });
    if (isEmailTaken(tx, call, signup)) fail("account-exists");
    tx.put(trialSignups, { ...signup, claimed: true });
    return { signup, cluster };
  });

/** A location is an ID, or a label, which is the name of the region. The default is the first cluster. */
const findClusterAt = (clusters: readonly Cluster[], location: string | null | undefined): Cluster | undefined =>
  location === undefined || location === null
    ? clusters[0]
    : (clusters.find(({ id }) => id === location) ?? clusters.find(({ label }) => label === location));

const readAnswers = ({ token: _, ...body }: SignupForm): TrialAnswers => ({
  ...body,
  last_name: body.last_name ?? null,
  cluster_location: body.cluster_location ?? null,
  invited_users: body.invited_users ?? [],
});

/** Creates the request to an emulated cluster. An external cluster receives the unchanged request. */
function createWorkspaceRequest(
  { request }: RouterCall,
  cluster: Cluster,
  { token, email }: TrialSignup,
  body: SignupForm,
): ForwardableRequest {
  const { remoteAddress, origin, headers } = request;
  const caller = headers["x-forwarded-for"];
  const { cluster_location: _, ...answers } = readAnswers(body);
  const workspace: NewWorkspaceRequest = { signup_token: token, email, ...answers };
  return {
    method: "POST",
    target: newWorkspacePath,
    rawHeaders: [
      ...["content-type", "application/json", "x-cluster-key", cluster.key],
      ...(caller === undefined ? [] : ["x-forwarded-for", caller]),
    ],
    body: Buffer.from(JSON.stringify(workspace)),
    remoteAddress,
    origin,
  };
}

async function requestWorkspace(
  call: RouterCall<RejectionCode>,
  cluster: Cluster,
  request: ForwardableRequest,
): Promise<Extract<ClusterResponse, { kind: "answered" }>> {
  const reply = await requestCluster(call, cluster, request);
  if (reply.kind === "answered") return reply;
  if (reply.kind === "late") return call.fail("cluster-timeout", { cluster: cluster.id });
  call.finding("cluster-unreachable", `${cluster.id}: ${reply.reason}`);
  return call.fail("cluster-unreachable", { cluster: cluster.id });
}
