import { hashEmail } from "../../../src/base/email-address.ts";
import { findInvitationKind } from "../../domain/workspaces.ts";
import type { ForwardCall, RouterHandlers } from "../context.ts";
import { forwardServerMetadata, isServerMetadata } from "../oidc.ts";
import { findIdentifiers, findOwners, listInviteTokenIdentifiers, type OwnerIdentifier } from "../resolve.ts";
import { forwardToAll, forwardToOwners } from "./forward.ts";

/** Forwards a request to the owner of the first mapped identifier, or to all clusters (DECISIONS.md, R34). */
const forwardToOwner = async (call: ForwardCall, ...identifiers: readonly OwnerIdentifier[]) =>
  forwardToOwners(call, findOwners(call, identifiers));

/** The kind determines the table. For an unknown kind, the table of creators is searched first. */
function listInviteIdentifiers(invite: { readonly email_type: string; readonly token: string }): OwnerIdentifier[] {
  const { email_type, token } = invite;
  const kind = findInvitationKind(email_type);
  return kind ? [{ table: `${kind}_tokens`, key: token }] : [...listInviteTokenIdentifiers(token)];
}

/** The cluster that issued a state is its prefix: `{cluster_id}_` (DECISIONS.md, R26 and R34). */
const toStateIdentifier = ({ state = "" }: { readonly state?: string | undefined }): OwnerIdentifier => ({
  table: "prefix",
  key: state,
});

export const proxiedHandlers = {
  "proxied.contract-invite": ({ params }, call) => forwardToOwner(call, ...listInviteIdentifiers(params)),
  "proxied.contract-invite-v3": ({ params }, call) => forwardToOwner(call, ...listInviteIdentifiers(params)),
  "proxied.invite-info": ({ query }, call) => forwardToOwner(call, ...listInviteTokenIdentifiers(query.token)),
  "proxied.user-invite": ({ params }, call) => forwardToOwner(call, ...listInviteTokenIdentifiers(params.token)),
  "proxied.oauth-login": (_, call) => forwardToOwner(call, ...findIdentifiers(call.request, call.settings.publicUrl)),
  "proxied.oauth-callback": ({ query }, call) => forwardToOwner(call, toStateIdentifier(query)),
  "proxied.oauth-signup": (_, call) => forwardToOwner(call, ...findIdentifiers(call.request, call.settings.publicUrl)),
  "proxied.oauth-signup-callback": ({ query }, call) => forwardToOwner(call, toStateIdentifier(query)),
  "proxied.login-v2": ({ body }, call) => forwardToOwner(call, { table: "cluster_emails", key: hashEmail(body.email) }),
  "proxied.captcha-config": (_, call) => forwardToAll(call, call.clusters),
  "mailer.webhook": ({ body: { Metadata } }, call) =>
    forwardToOwner(
      call,
      { table: "cluster", key: Metadata.cluster_id ?? "" },
      { table: "cluster_emails", key: Metadata.email_hash ?? "" },
    ),
  "external-oauth.redirect": ({ query }, call) => forwardToOwner(call, toStateIdentifier(query)),
  "catch-all": async (_, call) => {
    const { method, parsedTarget } = call.request;
    // The specification does not include this path, and clusters do not have the router's URLs.
    const isMetadataRequest = method === "GET" && isServerMetadata(parsedTarget.path, call.settings.publicUrl);
    return isMetadataRequest
      ? forwardServerMetadata(call)
      : forwardToOwners(call, findOwners(call, findIdentifiers(call.request, call.settings.publicUrl)));
  },
} satisfies RouterHandlers;
