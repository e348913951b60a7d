import { openCrmB } from "../../../src/schemes/crm-b.ts";
import { formFields, queryOf, textAt } from "../../http/bodies/fields.ts";
import type { ReceivedRequest } from "../../http/handler.ts";
import { html, listOf } from "../../http/page.ts";
import type { Passthrough } from "../../http/reply.ts";
import { appsOf, frontEndOf } from "../../world/apps.ts";
import { json } from "../answer.ts";
import type { ClusterWorld } from "../world.ts";
import { appPage } from "./app-page.ts";

const path = "/router/v1/crm_b/";
const title = "Contracts in crm_b";

/** The canvas page with the context of the signed request (DECISIONS.md, R28). */
async function openCanvas(request: ReceivedRequest, { store }: ClusterWorld): Promise<Passthrough> {
  const { crm_b } = await store.read(appsOf);
  const { signed_request = "" } = formFields(request);
  const opened = openCrmB(crm_b.consumer_secret, signed_request);
  // The router has asked already; whoever comes past it is not believed either.
  if (!opened.ok) return json(401, { detail: "Invalid signed request" });
  const { context } = opened.envelope;
  return appPage({
    title,
    content: listOf({
      user: textAt(context, "user", "fullName") ?? textAt(context, "user", "userName"),
      organization: textAt(context, "organization", "name"),
      place: textAt(context, "environment", "displayLocation"),
    }),
    // Its neighbour `client` holds the tokens of the CRM; they have no place in a page.
    context: typeof context === "object" && context !== null ? context : {},
    frontEnd: allowed(frontEndOf(crm_b, wantedFrontEnd(request))),
  });
}

/** The same page for a caller who has signed nothing: without a context. */
async function showCanvas(request: ReceivedRequest, { store }: ClusterWorld): Promise<Passthrough> {
  const { crm_b } = await store.read(appsOf);
  return appPage({
    title,
    content: html`<p>The CRM opens this page with a signed request, which says who is asking.</p>`,
    frontEnd: allowed(frontEndOf(crm_b, wantedFrontEnd(request))),
  });
}

const wantedFrontEnd = ({ target }: ReceivedRequest) =>
  new URLSearchParams(queryOf(target)).getAll("index_url_override").at(-1);

const allowed = (frontEnd: URL | "refused" | undefined): URL | undefined =>
  frontEnd === "refused" ? undefined : frontEnd;

export const crmBAnswers = { [`POST ${path}`]: openCanvas, [`GET ${path}`]: showCanvas };
