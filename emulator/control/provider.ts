import { alarm, type HtmlPage, hiddenFields, html, leadsAway, page } from "../http/page.ts";
import { reply } from "../http/reply.ts";
import { keepNewest } from "../store/newest.ts";
import { providerCodes, providerFlows } from "../world/provider.ts";
import { formToken, requireFormToken } from "./form-token.ts";
import type { ControlHandlers, ControlWorld } from "./world.ts";

type ProviderWorld = Pick<ControlWorld, "store" | "clock" | "wall" | "ids" | "settings" | "instance">;

interface ProviderPage {
  readonly flow: string;
  readonly provider: string;
  readonly state: string;
}

/** What a form of this page is bound to. */
const about = ({ flow, state }: Pick<ProviderPage, "flow" | "state">): string => `provider ${flow} ${state}`;

export const providerHandlers = {
  "provider.page": ({ query }, world) => shown(question(world, query)),

  "provider.submit": async ({ body }, world) => {
    const { store, ids, settings, fail } = world;
    const { flow, provider, state, email, name, form_token } = body;
    requireFormToken(world, about(body), form_token, fail);
    if (!/^[^\s@]+@[^\s@]+$/.test(email)) {
      return shown(question(world, body, "This is no e-mail address."));
    }
    const code = ids.token(24);
    await store.transaction("provider.submit", (tx) => {
      tx.put(providerCodes, { code, provider, email, name });
      return keepNewest(tx, providerCodes);
    });
    return reply(303, `${settings.publicUrl}${providerFlows[flow]}?${new URLSearchParams({ code, state })}`);
  },
} satisfies ControlHandlers<ProviderWorld>;

const shown = ({ text, headers }: HtmlPage) => reply(200, text, headers);

/** The form ends at the callback of the flow, at a real back end perhaps, which redirects to a front end of its own. */
function question(
  world: ProviderWorld,
  { flow, provider, state, email, name }: ProviderPage & { readonly email?: string; readonly name?: string },
  problem?: string,
): HtmlPage {
  const hidden = hiddenFields({ flow, provider, state, form_token: formToken(world, about({ flow, state })) });
  return page(
    `Sign in with ${provider}`,
    html`${alarm(problem)}
<p>The emulator stands in for this provider. Be whoever you like.</p>
<form method="post">${hidden}
<p><label>E-mail address: <input name="email" type="email" value="${email}" required></label></p>
<p><label>Name: <input name="name" value="${name}"></label></p>
<p><button>Sign in</button></p></form>`,
    leadsAway,
  );
}
