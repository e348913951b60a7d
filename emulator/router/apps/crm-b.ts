import { openCrmB } from "../../../src/schemes/crm-b.ts";
import { html } from "../../http/page.ts";
import { appsOf } from "../../world/apps.ts";
import { textAt } from "../resolve/request-fields.ts";
import type { RouterCall, RouterHandler, RouterHandlers } from "../world.ts";
import { appPage, listOf } from "./app-page.ts";

const title = "Contracts in crm_b";

const openApp: RouterHandler<"crm-b.open"> = async ({ body, query }, call) => {
  const { crm_b } = await call.store.read(appsOf);
  const verdict = openCrmB(crm_b.consumer_secret, body.signed_request);
  if (!verdict.ok) {
    call.finding("signed-request-refused", verdict.reason);
    return call.fail("bad-signed-request");
  }
  const { context } = verdict.envelope;
  return appPage({
    title,
    content: listOf({
      user: textAt(context, "user", "fullName") ?? textAt(context, "user", "userName"),
      organization: textAt(context, "organization", "name"),
      place: textAt(context, "environment", "displayLocation"),
    }),
    // Its neighbour `client` holds the tokens of the CRM; they have no place in a page.
    context: typeof context === "object" && context !== null ? context : {},
    frontEnd: frontEndOf(call, query.index_url_override, crm_b.index_url_allow),
  });
};

const showCanvas: RouterHandler<"crm-b.canvas"> = async ({ query }, call) => {
  const { crm_b } = await call.store.read(appsOf);
  return appPage({
    title,
    content: html`<p>The CRM opens this page with a signed request, which says who is asking.</p>`,
    frontEnd: frontEndOf(call, query.index_url_override, crm_b.index_url_allow),
  });
};

/** The front end that the caller wants instead of ours, if its origin is on the seed's list (DECISIONS.md, R28). */
function frontEndOf(
  { fail }: RouterCall<"index-url-not-allowed">,
  wanted: string | null | undefined,
  allowed: readonly string[],
): URL | undefined {
  if (wanted === undefined || wanted === null || wanted === "") return undefined;
  const url = URL.canParse(wanted) ? new URL(wanted) : fail("index-url-not-allowed");
  const origins = allowed.flatMap((text) => (URL.canParse(text) ? [new URL(text).origin] : []));
  // Every URL of a scheme without hosts has the origin "null".
  return /^https?:$/.test(url.protocol) && origins.includes(url.origin) ? url : fail("index-url-not-allowed");
}

export const crmBHandlers = {
  "crm-b.open": openApp,
  "crm-b.canvas": showCanvas,
} satisfies RouterHandlers;
