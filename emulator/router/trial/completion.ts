import type { InputOf } from "../../../src/api/operation.ts";
import type * as declared from "../../../src/api/router/trial.ts";
import { emailHash } from "../../../src/schemes/email-hash.ts";
import type { Transaction } from "../../store/port.ts";
import type { Cluster } from "../../world/clusters.ts";
import { CreatedWorkspace, type NewWorkspace, newWorkspacePath } from "../../world/new-workspace.ts";
import { mappingTables } from "../mapping/tables.ts";
import { askCluster } from "../proxied/ask-cluster.ts";
import type { RouterCall, RouterHandler } from "../world.ts";
import { isTaken, signupOfToken, type TrialAnswers, type TrialSignup, trialSignups } from "./signups.ts";

type Form = InputOf<typeof declared.completeTrialSignup>["body"];
type Refusals =
  | "unknown-signup-token"
  | "unknown-cluster-location"
  | "account-exists"
  | "cluster-unreachable"
  | "cluster-timeout";

/**
 * Completes a signup: its cluster creates the workspace, the router maps what belongs to it. The signup is claimed
 * while the cluster is asked, and good again if that fails (DECISIONS.md, R24, E4).
 */
export const completeTrialSignup: RouterHandler<"trial.complete"> = async ({ body }, call) => {
  const { store } = call;
  const { signup, cluster } = await claim(call, body);
  const created = await createWorkspace(call, cluster, requestFor(signup, body)).catch(async (error: unknown) => {
    await endClaim(store, signup, async () => null);
    throw error;
  });
  const { workspace_id } = created;
  const isMapped = await endClaim(
    store,
    signup,
    async (tx) => {
      // Somebody may have mapped the address while the cluster was asked.
      if (await isTaken(tx, call, signup)) return null;
      tx.map(mappingTables.cluster_clients, cluster.id, [created.client_id]);
      tx.map(mappingTables.cluster_emails, cluster.id, [emailHash(signup.email)]);
      tx.map(mappingTables.creator_tokens, cluster.id, created.creator_tokens);
      return { cluster_id: cluster.id, workspace_id };
    },
    answersIn(body),
  );
  if (!isMapped) {
    call.finding("workspace-not-mapped", `${cluster.id} made workspace ${workspace_id} for nobody`);
    call.fail("account-exists");
  }
  return { cluster_id: cluster.id, workspace_id, cluster_url: new URL(cluster.url).href };
};

/**
 * Says whether the signup has its workspace now. Nothing happens when the state was replaced while the cluster was
 * asked: the signup is not of this state.
 */
const endClaim = (
  store: RouterCall["store"],
  { id }: TrialSignup,
  workspaceOf: (tx: Transaction) => Promise<TrialSignup["workspace"]>,
  answers: TrialAnswers | null = null,
): Promise<boolean> =>
  store.transaction("trial.complete: end of the claim", async (tx) => {
    const signup = await tx.get(trialSignups, String(id));
    if (!signup?.claimed) return true;
    const workspace = await workspaceOf(tx);
    tx.put(trialSignups, { ...signup, claimed: false, workspace, answers: workspace && answers });
    return workspace !== null;
  });

const claim = (
  call: RouterCall<Refusals>,
  { token, cluster_location }: Form,
): Promise<{ readonly signup: TrialSignup; readonly cluster: Cluster }> =>
  call.store.transaction("trial.complete", async (tx) => {
    const { clusters, fail } = call;
    const signup = await signupOfToken(tx, token);
    // One that another caller is completing will be used in a moment.
    if (!signup || signup.workspace || signup.claimed) return fail("unknown-signup-token");
    const cluster =
      clusterAt(clusters, cluster_location) ?? fail("unknown-cluster-location", { location: cluster_location ?? "" });
    if (await isTaken(tx, call, signup)) fail("account-exists");
    tx.put(trialSignups, { ...signup, claimed: true });
    return { signup, cluster };
  });

/** By id, then by label, which is the name of the region; the first one when nothing is said. */
const clusterAt = (clusters: readonly Cluster[], location: string | null | undefined): Cluster | undefined =>
  location === undefined || location === null
    ? clusters[0]
    : (clusters.find(({ id }) => id === location) ?? clusters.find(({ label }) => label === location));

const answersIn = ({ token: _, ...body }: Form): TrialAnswers => ({
  ...body,
  last_name: body.last_name ?? null,
  cluster_location: body.cluster_location ?? null,
  invited_users: body.invited_users ?? [],
});

const requestFor = ({ token, email }: TrialSignup, body: Form): NewWorkspace => ({
  signup_token: token,
  email,
  first_name: body.first_name,
  last_name: body.last_name ?? null,
  job_title: body.job_title,
  company_name: body.company_name,
  invited_users: body.invited_users ?? [],
});

async function createWorkspace(
  call: RouterCall<Refusals>,
  cluster: Cluster,
  workspace: NewWorkspace,
): Promise<CreatedWorkspace> {
  const { remoteAddress, origin, headers } = call.request;
  const caller = headers["x-forwarded-for"];
  const reply = await askCluster(call, cluster, {
    method: "POST",
    target: newWorkspacePath,
    rawHeaders: [
      ...["content-type", "application/json", "x-cluster-key", cluster.key],
      ...(caller === undefined ? [] : ["x-forwarded-for", caller]),
    ],
    body: Buffer.from(JSON.stringify(workspace)),
    remoteAddress,
    origin,
  });
  if (reply.kind === "late") return call.fail("cluster-timeout", { cluster: cluster.id });
  const created = CreatedWorkspace.safeParse(
    reply.kind === "answered" && reply.status === 201 ? reply.body : undefined,
  );
  if (created.success) return created.data;
  const why = reply.kind === "answered" ? `answered ${reply.status} when asked for a workspace` : reply.reason;
  call.finding("cluster-unreachable", `${cluster.id} ${why}`);
  return call.fail("cluster-unreachable", { cluster: cluster.id });
}
