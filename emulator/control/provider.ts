import type { Handlers } from "../http/handler.ts";
import { reply } from "../http/reply.ts";
import { hiddenFields, html, page, pageHeaders } from "../page.ts";
import { providerCodes, providerFlows } from "../provider.ts";
import { keepNewest } from "../store/newest.ts";
import { formToken, requireFormToken } from "./form-token.ts";
import type { ControlWorld } from "./home.ts";

type ProviderWorld = Pick<ControlWorld, "store" | "clock" | "wall" | "ids" | "settings" | "instance">;

interface Asked {
  readonly flow: string;
  readonly provider: string;
  readonly state: string;
}

/** What a form of this page is bound to. */
const about = ({ flow, state }: Pick<Asked, "flow" | "state">): string => `provider ${flow} ${state}`;

export const providerHandlers: Handlers<"provider.page" | "provider.submit", ProviderWorld, unknown> = {
  "provider.page": ({ query }, world) => reply(200, question(world, query), headersOf(world)),

  "provider.submit": async ({ body }, world) => {
    const { store, ids, settings, fail } = world;
    const { flow, provider, state, email, name, form_token } = body;
    requireFormToken(world, about(body), form_token, fail);
    if (!/^[^\s@]+@[^\s@]+$/.test(email)) {
      return reply(200, question(world, body, "This is no e-mail address."), headersOf(world));
    }
    const code = ids.token(24);
    await store.transaction("provider.submit", (tx) => {
      tx.put(providerCodes, { code, provider, email, name });
      return keepNewest(tx, providerCodes);
    });
    return reply(303, `${settings.publicUrl}${providerFlows[flow]}?${new URLSearchParams({ code, state })}`);
  },
};

/** The form ends at the router's public URL, which need not be the one that the page was loaded from. */
const headersOf = ({ settings }: ProviderWorld) => pageHeaders([new URL(settings.publicUrl).origin]);

function question(world: ProviderWorld, { flow, provider, state }: Asked, problem?: string): string {
  const hidden = hiddenFields({ flow, provider, state, form_token: formToken(world, about({ flow, state })) });
  return page(
    `Sign in with ${provider}`,
    html`${problem === undefined ? undefined : html`<p role="alert">${problem}</p>`}
<p>The emulator stands in for this provider. Be whoever you like.</p>
<form method="post">${hidden}
<p><label>E-mail address: <input name="email" type="email" required></label></p>
<p><label>Name: <input name="name"></label></p>
<button>Sign in</button></form>`,
  );
}
