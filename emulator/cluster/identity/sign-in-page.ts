import type { Passthrough } from "../../http/reply.ts";
import { type Html, hiddenFields, html, page, pageHeaders } from "../../page.ts";
import type { View } from "../../store/store.ts";
import { users, workspaces } from "../workspaces.ts";
import { text } from "./answer.ts";
import type { Parameters } from "./parameters.ts";

/** More than anybody would look through; others are typed. */
const shownUsers = 50;

interface Person {
  readonly name: string;
  readonly email: string;
  readonly workspace: string;
  readonly cluster_id: string;
}

/**
 * The page on which a person says who they are: the users of all clusters of the emulator, because a request whose
 * client is mapped nowhere reaches every cluster, and any of their pages may be the one that is shown.
 */
export async function signInPage(
  view: View,
  parameters: Parameters,
  clientName: string,
  { status, redirectTo }: { readonly status: number; readonly redirectTo: URL },
): Promise<Passthrough> {
  const people = await peopleOf(view);
  const { svc_user: _, prompt: __, ...kept } = parameters;
  const links = people.map(
    ({ name, email, workspace, cluster_id }): Html =>
      html`<li><a href="?${String(new URLSearchParams({ ...kept, svc_user: email }))}">${name} &lt;${email}&gt;</a>
${workspace}, ${cluster_id}</li>`,
  );
  const content = html`<p>${clientName} wants to know who you are.</p>
<ul>${links}</ul>
<form method="get">${hiddenFields(kept)}
<label>Somebody else: <input name="svc_user" type="email" placeholder="e-mail address" required></label>
<button>Sign in</button></form>`;
  return text(status, page("Sign in", content), pageHeaders([redirectTo.origin]));
}

async function peopleOf(view: View): Promise<Person[]> {
  const people: Person[] = [];
  for (const user of await view.list(users)) {
    const workspace = user.is_active ? await view.get(workspaces, String(user.workspace_id)) : undefined;
    if (!workspace) continue;
    people.push({ name: user.name, email: user.email, workspace: workspace.name, cluster_id: workspace.cluster_id });
    if (people.length === shownUsers) break;
  }
  return people;
}

/** What went wrong, to a person, where nobody can be redirected to. */
export const problemPage = (status: number, problem: string): Passthrough =>
  text(status, page("This sign-in cannot go on", html`<p>${problem}</p>`), pageHeaders());
