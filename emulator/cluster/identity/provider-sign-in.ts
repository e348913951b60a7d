import { OAuthProviderType } from "../../../src/api/router/proxied.ts";
import { toAddressKey } from "../../../src/base/email-address.ts";
import { isOneOf } from "../../../src/base/object.ts";
import { clusterRows } from "../../domain/clusters.ts";
import { buildAuthorizationUrl, redeemProviderCode } from "../../domain/provider.ts";
import { type User, users, workspaces } from "../../domain/workspaces.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import { allowExternalFormAction, createPage, type Html, html, renderHiddenFields } from "../../http/page.ts";
import { createJsonPassthrough, type Passthrough } from "../../http/reply.ts";
import type { Transaction, View } from "../../store/port.ts";
import { evictOldest } from "../../store/rows.ts";
import type { ClusterContext } from "../context.ts";
import { acceptInvitation, invitations } from "../invitations/invite.ts";
import { scheduleReport } from "../reports/report.ts";
import { createPageResponse, type OAuthParameters, readOAuthParameters } from "../response.ts";
import { addWorkspace } from "../workspace/new-workspace.ts";
import { findUserByEmail, providerStates } from "./grants.ts";

type SignInFlow = "login" | "signup";

/** The state routes the callback to this cluster (DECISIONS.md, R25). */
export const startProviderSignIn =
  (flow: SignInFlow) =>
  async (request: ReceivedRequest, { store, cluster, settings, ids }: ClusterContext): Promise<Passthrough> => {
    const { provider = "ProviderA" } = readOAuthParameters(request);
    if (!isOneOf(OAuthProviderType.options, provider))
      return respondWithDetail(400, `Unknown provider. Known: ${OAuthProviderType.options.join(", ")}`);
    const state = `${cluster.id}_${ids.token(24)}`;
    await store.transaction(`identity.${flow}`, (tx) => {
      tx.put(providerStates, { state, cluster_id: cluster.id, provider, flow });
      evictOldest(tx, providerStates);
    });
    return createJsonPassthrough(200, {
      authorization_url: buildAuthorizationUrl(settings.publicUrl, { flow, provider, state }),
      state,
    });
  };

/** A login requires a user of the cluster with the provider's address. A signup creates a user if there is none. */
export const completeProviderSignIn =
  (flow: SignInFlow) =>
  (request: ReceivedRequest, context: ClusterContext): Promise<Passthrough> => {
    const { store, cluster } = context;
    const { state = "", code = "" } = readOAuthParameters(request);
    return store.transaction(`identity.${flow}-callback`, (tx) => {
      const providerState = tx.get(providerStates, state);
      if (providerState?.cluster_id !== cluster.id || providerState.flow !== flow)
        return respondWithDetail(400, "Unknown or used state");
      const account = redeemProviderCode(tx, providerState.provider, code);
      if (!account) return respondWithDetail(400, "Unknown or used code");
      const person = { email: account.id, name: account.name };
      tx.delete(providerStates, state);
      const existingUser = findUserByEmail(tx, cluster.id, person.email);
      if (flow === "login" && !existingUser) return respondWithDetail(404, "No account with this e-mail");
      const user = existingUser ?? findOrCreateAccount(tx, context, person);
      if (!user) return respondWithDetail(400, "An account with this e-mail exists");
      return createJsonPassthrough(200, {
        cluster_id: cluster.id,
        oauth_provider: providerState.provider,
        email: person.email,
        name: person.name,
        user_id: user.id,
        workspace_id: user.workspace_id,
      });
    });
  };

const respondWithDetail = (status: number, sentence: string): Passthrough =>
  createJsonPassthrough(status, { detail: sentence });

/** Accepts an invitation or creates a workspace, unless another cluster has the account (DECISIONS.md, R25). */
function findOrCreateAccount(tx: Transaction, context: ClusterContext, { email, name }: Pick<User, "email" | "name">) {
  const at = context.clock.now();
  const matches = tx.list(users, { by: "email", equals: toAddressKey(email) });
  for (const { id } of matches) {
    const [pending] = tx.list(invitations, { by: "user", equals: id }).filter(({ state }) => state === "PENDING");
    if (pending?.cluster_id === context.cluster.id) return acceptInvitation(tx, pending, at);
  }
  if (matches.length > 0) return undefined;
  const owner = { name: name.trim() || email.trim(), email: email.trim(), designation: null };
  const workspaceFields = { name: `Workspace of ${owner.name}`, industry: null, use_case: null, owner };
  const { acting_user_id } = addWorkspace(tx, context, workspaceFields);
  scheduleReport(tx, "report-member", acting_user_id, at);
  return tx.get(users, acting_user_id);
}

/** Maximum number of offered addresses. A person can type any other address. */
const maxShownUsers = 50;

/**
 * Lists the users of all emulated clusters, because the page of any cluster can be shown. Each link names its cluster,
 * which takes precedence over anything else in the request (DECISIONS.md, R14).
 */
export function createSignInPage(view: View, parameters: OAuthParameters, clientName: string) {
  // The client's login hint must not redirect to another person's cluster.
  const { svc_user: _, prompt: __, cluster_id: ___, login_hint, ...preservedParameters } = parameters;
  const links = listPeople(view).map(
    ({ name, email, workspace, cluster_id }): Html =>
      html`<li><a href="${buildQuery(preservedParameters, email, cluster_id)}">${name} &lt;${email}&gt;</a>
${workspace}, ${cluster_id}</li>`,
  );
  const content = html`<p>${clientName} requests your identity.</p>
<ul>${links}</ul>
<form method="get">${renderHiddenFields(preservedParameters)}
<p><label>Another user:
<input name="svc_user" type="email" placeholder="e-mail address" value="${login_hint}" required></label></p>
<p><button>Sign in</button></p></form>`;
  return createPageResponse(200, createPage("Sign in", content, allowExternalFormAction));
}

const buildQuery = (parameters: OAuthParameters, svc_user: string, cluster_id: string): string =>
  `?${new URLSearchParams({ ...parameters, svc_user, cluster_id })}`;

function listPeople(view: View) {
  const people = [];
  for (const user of view.list(users)) {
    const person = findPerson(view, user);
    if (person) people.push(person);
    if (people.length === maxShownUsers) break;
  }
  return people;
}

/** Returns an active user of an emulated cluster. Real back ends do not have the emulator's users. */
function findPerson(view: View, { is_active, name, email, workspace_id }: User) {
  const workspace = is_active ? view.get(workspaces, workspace_id) : undefined;
  const cluster = workspace && view.get(clusterRows, workspace.cluster_id);
  if (cluster?.external_url !== null) return undefined;
  return { name, email, workspace: workspace!.name, cluster_id: cluster.id };
}

/** Links to the cluster of the person. If no cluster has the person, the link leads back to the sign-in page. */
export function createUnknownUserPage(view: View, parameters: OAuthParameters, clusterId: string) {
  const { svc_user = "" } = parameters;
  const problem = `Cluster ${clusterId} has no active user ${svc_user}.`;
  for (const user of view.list(users, { by: "email", equals: toAddressKey(svc_user) })) {
    const person = findPerson(view, user);
    if (!person) continue;
    const { cluster_id } = person;
    const link = html`<a href="${buildQuery(parameters, svc_user, cluster_id)}">Sign in at cluster ${cluster_id}</a>`;
    return createProblemPage(404, problem, link);
  }
  const { svc_user: _, cluster_id: __, ...preservedParameters } = parameters;
  const query = `?${new URLSearchParams({ ...preservedParameters, prompt: "select_account" })}`;
  return createProblemPage(404, problem, html`<a href="${query}">Choose another user</a>`);
}

export const createProblemPage = (status: number, problem: string, link?: Html): Passthrough =>
  createPageResponse(status, createPage("Sign-in failed", html`<p>${problem}</p>${link && html`<p>${link}</p>`}`));
