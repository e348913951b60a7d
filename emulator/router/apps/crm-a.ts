import { verifyCrmA } from "../../../src/schemes/crm-a.ts";
import { queryOf } from "../../http/bodies/fields.ts";
import type { Passthrough } from "../../http/reply.ts";
import { originForm } from "../../http/routing/path.ts";
import { appsOf } from "../../world/apps.ts";
import { forwardToOne } from "../proxied/forward.ts";
import type { CallToOne, RouterCall, RouterHandlers } from "../world.ts";
import { crmOwner } from "./crm-owner.ts";
import { freshBy } from "./fresh-by.ts";

type SignedCall = CallToOne & RouterCall<"bad-crm-a-signature">;

/** Checks the signature over the full public URL (DECISIONS.md, R29). */
async function verify(call: SignedCall): Promise<void> {
  const { crm_a } = await call.store.read(appsOf);
  const { headers, method, target, body } = call.request;
  const signed = {
    clientSecret: crm_a.client_secret,
    method,
    url: publicUrlOf(call.settings.publicUrl, target),
    body,
    version: headers["x-crm-a-signature-version"] || undefined,
    timestamp: headers["x-crm-a-signature-timestamp"] || undefined,
    signature: headers["x-crm-a-signature"],
  };
  const verdict = freshBy(call, (nowMs) => verifyCrmA({ ...signed, nowMs }));
  if (!verdict.ok) {
    call.finding("crm-a-signature-refused", verdict.reason);
    call.fail("bad-crm-a-signature");
  } else if (verdict.version === "v1") {
    if (call.settings.strict.has("signatures")) call.fail("bad-crm-a-signature");
    call.finding("crm-a-signature-v1", "version 1 of a GET signs nothing but the secret");
  }
}

/** The target as sent, behind the name by which callers know the router. */
const publicUrlOf = (publicUrl: string, target: string): string => publicUrl + (originForm(target) ?? target);

export const crmAHandlers = {
  "crm-a.iframe": (_, call) => verifyAndForward(call),
  "crm-a.cards": (_, call) => verifyAndForward(call),
} satisfies RouterHandlers;

/** Credentials and payload come in the query. */
async function verifyAndForward(call: SignedCall): Promise<Passthrough> {
  await verify(call);
  return forwardToOne(call, await crmOwner(call, ownerTarget(call.request.target)));
}

/** A query with whom the CRM names by its own names: identifiers decide as in any request (DECISIONS.md, R14 and R29). */
function ownerTarget(target: string): string {
  const query = new URLSearchParams(queryOf(target));
  const email = query.get("userEmail");
  const portal = query.get("portalId");
  if (email !== null && !query.has("email")) query.set("email", email);
  if (portal !== null && !query.has("external_id")) query.set("external_id", portal);
  return `/?${query}`;
}
