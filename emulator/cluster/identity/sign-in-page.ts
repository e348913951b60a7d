import { addressKey } from "../../../src/schemes/email-hash.ts";
import { allowExternalFormAction, createPage, type Html, hiddenFields, html } from "../../http/page.ts";
import type { Passthrough } from "../../http/reply.ts";
import type { View } from "../../store/port.ts";
import { clusterRows } from "../../world/clusters.ts";
import { type User, users, workspaces } from "../../world/workspaces.ts";
import { createPageResponse, type OAuthParameters } from "../response.ts";

/** More than anybody would look through; others are typed. */
const shownUsers = 50;

interface Person {
  readonly name: string;
  readonly email: string;
  readonly workspace: string;
  readonly cluster_id: string;
}

/**
 * The page on which a person says who they are: the users of all emulated clusters, because a request whose client is
 * mapped nowhere reaches every cluster, and any of their pages may be the one that is shown. Each link names its
 * cluster, which decides before anything else in the request does (DECISIONS.md, R14).
 */
export async function signInPage(view: View, parameters: OAuthParameters, clientName: string): Promise<Passthrough> {
  // Whom the client expected is nobody's reason to be sent to that person's cluster.
  const { svc_user: _, prompt: __, cluster_id: ___, login_hint, ...kept } = parameters;
  const links = (await peopleOf(view)).map(
    ({ name, email, workspace, cluster_id }): Html =>
      html`<li><a href="${queryFor(kept, email, cluster_id)}">${name} &lt;${email}&gt;</a>
${workspace}, ${cluster_id}</li>`,
  );
  const content = html`<p>${clientName} requests your identity.</p>
<ul>${links}</ul>
<form method="get">${hiddenFields(kept)}
<p><label>Another user:
<input name="svc_user" type="email" placeholder="e-mail address" value="${login_hint}" required></label></p>
<p><button>Sign in</button></p></form>`;
  return createPageResponse(200, createPage("Sign in", content, allowExternalFormAction));
}

const queryFor = (parameters: OAuthParameters, svc_user: string, cluster_id: string): string =>
  `?${new URLSearchParams({ ...parameters, svc_user, cluster_id })}`;

async function peopleOf(view: View): Promise<Person[]> {
  const people: Person[] = [];
  for (const user of await view.list(users)) {
    const person = await personOf(view, user);
    if (person) people.push(person);
    if (people.length === shownUsers) break;
  }
  return people;
}

/** An active user of an emulated cluster: a real back end knows nothing of ours. */
async function personOf(view: View, { is_active, name, email, workspace_id }: User): Promise<Person | undefined> {
  const workspace = is_active ? await view.get(workspaces, workspace_id) : undefined;
  const cluster = workspace && (await view.get(clusterRows, workspace.cluster_id));
  if (cluster?.external_url !== null) return undefined;
  return { name, email, workspace: workspace!.name, cluster_id: cluster.id };
}

/**
 * Where the cluster that was asked has no such person: who asked every cluster gets the answer of the one that has
 * them; who asked this one alone is shown the way there. Whom nobody knows is shown the way back.
 */
export async function createUnknownUserPage(
  view: View,
  parameters: OAuthParameters,
  clusterId: string,
): Promise<Passthrough> {
  const { svc_user = "" } = parameters;
  const problem = `Cluster ${clusterId} has no active user ${svc_user}.`;
  for (const user of await view.list(users, { by: "email", equals: addressKey(svc_user) })) {
    const person = await personOf(view, user);
    if (!person) continue;
    const { cluster_id } = person;
    const way = html`<a href="${queryFor(parameters, svc_user, cluster_id)}">Sign in at cluster ${cluster_id}</a>`;
    return problemPage(404, problem, way);
  }
  const { svc_user: _, cluster_id: __, ...kept } = parameters;
  const others = `?${new URLSearchParams({ ...kept, prompt: "select_account" })}`;
  return problemPage(404, problem, html`<a href="${others}">Choose another user</a>`);
}

/** What went wrong, to a person, where nobody can be redirected to; perhaps with a way on. */
export const problemPage = (status: number, problem: string, way?: Html): Passthrough =>
  createPageResponse(status, createPage("Sign-in failed", html`<p>${problem}</p>${way && html`<p>${way}</p>`}`));
