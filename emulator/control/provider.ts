import type { Handlers } from "../http/handler.ts";
import { reply } from "../http/reply.ts";
import { hiddenFields, html, page, pageHeaders } from "../page.ts";
import { providerCodes, providerFlows } from "../provider.ts";
import { formToken, requireFormToken } from "./form-token.ts";
import type { ControlWorld } from "./home.ts";

const about = ({ flow, state }: { readonly flow: string; readonly state: string }): string =>
  `provider ${flow} ${state}`;

export const providerHandlers: Handlers<
  "provider.page" | "provider.submit",
  Pick<ControlWorld, "store" | "clock" | "wall" | "ids" | "settings" | "instance">,
  unknown
> = {
  "provider.page": ({ query }, world) => {
    const { flow, provider, state } = query;
    const hidden = hiddenFields({ flow, provider, state, form_token: formToken(world, about(query)) });
    const content = html`<p>The emulator stands in for this provider. Be whoever you like.</p>
<form method="post">${hidden}
<p><label>E-mail address: <input name="email" type="email" required></label></p>
<p><label>Name: <input name="name"></label></p>
<button>Sign in</button></form>`;
    // The form ends at the router's public URL, which need not be the one that this page was loaded from.
    const headers = pageHeaders([new URL(world.settings.publicUrl).origin]);
    return reply(200, page(`Sign in with ${provider}`, content), headers);
  },

  "provider.submit": async ({ body }, world) => {
    const { store, ids, settings, fail } = world;
    const { flow, provider, state, email, name, form_token } = body;
    requireFormToken(world, about(body), form_token, fail);
    const code = ids.token(24);
    await store.transaction("provider.submit", (tx) => tx.put(providerCodes, { code, provider, email, name }));
    return `${settings.publicUrl}${providerFlows[flow]}?${new URLSearchParams({ code, state })}`;
  },
};
