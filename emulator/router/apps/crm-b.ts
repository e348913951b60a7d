import { openCrmB } from "../../../src/schemes/crm-b.ts";
import { textAt } from "../../http/bodies/fields.ts";
import { appsOf, frontEndOf } from "../../world/apps.ts";
import { forwardToOne } from "../proxied/forward.ts";
import type { CallToOne, RouterCall, RouterHandlers } from "../world.ts";
import { crmOwner } from "./crm-owner.ts";

type CanvasCall = CallToOne & RouterCall<"index-url-not-allowed">;

/** The page loads its front end from there; the router never fetches it (DECISIONS.md, R28). */
async function requireAllowed(call: CanvasCall, wanted: string | null | undefined): Promise<void> {
  const { crm_b } = await call.store.read(appsOf);
  if (frontEndOf(crm_b, wanted) === "refused") call.fail("index-url-not-allowed");
}

/** A query with whom the context of a signed request names: identifiers decide as in any request (DECISIONS.md, R14). */
function targetOf(context: unknown): string {
  const named = new URLSearchParams();
  const email = textAt(context, "user", "email");
  const organization = textAt(context, "organization", "organizationId");
  if (email !== undefined) named.set("email", email);
  if (organization !== undefined) named.set("external_id", organization);
  return `/?${named}`;
}

export const crmBHandlers = {
  "crm-b.open": async ({ body, query }, call) => {
    const { crm_b } = await call.store.read(appsOf);
    const verdict = openCrmB(crm_b.consumer_secret, body.signed_request);
    if (!verdict.ok) {
      call.finding("signed-request-refused", verdict.reason);
      return call.fail("bad-signed-request");
    }
    await requireAllowed(call, query.index_url_override);
    return forwardToOne(call, await crmOwner(call, targetOf(verdict.envelope.context)));
  },

  "crm-b.canvas": async ({ query }, call) => {
    await requireAllowed(call, query.index_url_override);
    return forwardToOne(call, await crmOwner(call, call.request.target));
  },
} satisfies RouterHandlers;
