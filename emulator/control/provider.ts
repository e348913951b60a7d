import type { submitProviderPage } from "../../src/api/emulator/provider.ts";
import type { InputOf } from "../../src/api/operation.ts";
import { alarm, type HtmlPage, hiddenFields, html, leadsAway, page } from "../http/page.ts";
import { reply } from "../http/reply.ts";
import { issueProviderCode, type ProviderVisit, providerRedirect } from "../world/provider.ts";
import { formToken, requireFormToken } from "./form-token.ts";
import type { ControlHandlers, ControlWorld } from "./world.ts";

type ProviderWorld = Pick<ControlWorld, "store" | "clock" | "wall" | "ids" | "settings" | "instance">;
type Submitted = InputOf<typeof submitProviderPage>["body"];

/** What a form of this page is bound to. */
const about = ({ flow, provider, state, destination = "" }: ProviderVisit): string =>
  `provider ${flow} ${provider} ${destination} ${state}`;

export const providerHandlers = {
  "provider.page": ({ query }, world) => shown(question(world, query)),

  "provider.submit": async ({ body }, world) => {
    const { store, ids, settings, fail } = world;
    requireFormToken(world, about(body), body.form_token, fail);
    const { provider, name } = body;
    const back = (answer: Readonly<Record<string, string>>) =>
      reply(303, providerRedirect(settings.publicUrl, body, answer));
    if (body.flow === "install" && body.decision === "deny") return back({ error: "access_denied" });
    const account = (isForTeam(body) ? body.team_id : body.email).trim();
    const problem = isForTeam(body)
      ? !/^\S+$/.test(account) && noTeam
      : !/^[^\s@]+@[^\s@]+$/.test(account) && noAddress;
    if (problem) return shown(question(world, body, body, problem));
    const code = await store.transaction("provider.submit", (tx) =>
      issueProviderCode(tx, ids, { provider, account, name }),
    );
    return back({ code });
  },
} satisfies ControlHandlers<ProviderWorld>;

const noTeam = "A team ID has no blanks, and is not empty.";
const noAddress = "This is no e-mail address.";

const isForTeam = ({ flow, provider }: ProviderVisit): boolean => flow === "install" && provider === "chat_a";

const shown = ({ text, headers }: HtmlPage) => reply(200, text, headers);

/** The form ends at the callback of the flow, at a real back end perhaps, which redirects to a front end of its own. */
function question(
  world: ProviderWorld,
  { flow, provider, state, destination }: ProviderVisit,
  { email, team_id, name }: Partial<Submitted> = {},
  problem?: string,
): HtmlPage {
  const visit = { flow, provider, state, ...(destination !== undefined && { destination }) };
  const hidden = hiddenFields({ ...visit, form_token: formToken(world, about(visit)) });
  const account = isForTeam(visit)
    ? html`<label>Team ID: <input name="team_id" value="${team_id}" autocomplete="off" required></label>`
    : html`<label>E-mail address: <input name="email" type="email" value="${email}" required></label>`;
  const buttons =
    flow === "install"
      ? html`<button name="decision" value="allow">Allow</button>
<button name="decision" value="deny" class="other" formnovalidate>Deny</button>`
      : html`<button>Sign in</button>`;
  return page(
    flow === "install" ? `Connect ${provider}` : `Sign in with ${provider}`,
    html`${alarm(problem)}
<p>${flow === "install" ? installing : signingIn}</p>
<form method="post">${hidden}
<p>${account}</p>
<p><label>Name: <input name="name" value="${name}"></label></p>
<p>${buttons}</p></form>`,
    leadsAway,
  );
}

const signingIn = "The emulator stands in for this provider. Be whoever you like.";
const installing =
  "A workspace of svc asks to be connected. The emulator stands in for this service: choose any account.";
