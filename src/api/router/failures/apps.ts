import { assumed } from "../../basis.ts";
import { detail } from "../../failure.ts";

/** What the connected apps, billing and trial signup may be refused with. */
export const appFailures = {
  "unknown-destination": detail({
    status: 404,
    when: "no cluster belongs to the destination",
    basis: assumed("The response for an unknown destination is not specified (DECISIONS.md, R15)."),
    says: ({ destination }: { destination: string }) => `Unknown destination: ${destination}`,
  }),
  "bad-chat-a-signature": detail({
    status: 401,
    when: "a signing secret is set, and the signature is missing, wrong or older than 300 s",
    basis: "public",
    says: "Invalid request signature",
  }),
  "bad-chat-b-token": detail({
    status: 401,
    when: "the bot-framework token is missing or invalid",
    basis: "public",
    says: "Invalid bot-framework token",
  }),
  "not-an-activity": detail({
    status: 400,
    when: "the body is not a JSON object",
    basis: "public",
    says: "The activity must be a JSON object",
  }),
  "no-chat-b-mapping": detail({
    status: 404,
    when: "the tenant of the activity has no cluster mapping",
    basis: assumed("The response for an unmapped tenant is not specified (DECISIONS.md, R22)."),
    says: "No cluster mapping for this tenant",
  }),
  "bad-crm-a-signature": detail({
    status: 401,
    when: "the signature is missing, wrong, stale, or of a version that --strict=signatures rejects",
    basis: "public",
    says: "Invalid request signature",
  }),
  "bad-signed-request": detail({
    status: 401,
    when: "the signed request is malformed, or its signature is wrong",
    basis: "public",
    says: "Invalid signed request",
  }),
  "index-url-not-allowed": detail({
    status: 400,
    when: "the origin of index_url_override is not on the seed's allow-list",
    basis: assumed("The allowed overrides are not specified (DECISIONS.md, R28)."),
    says: "index_url_override is not an allowed origin",
  }),
  "captcha-failed": detail({
    status: 400,
    when: "the captcha is not accepted",
    basis: assumed("The response for a wrong captcha is not specified (DECISIONS.md, R23)."),
    says: 'Captcha verification failed (the word "fail" always fails)',
  }),
  "account-exists": detail({
    status: 400,
    when: "the e-mail is mapped to a cluster, belongs to a user of a workspace, or has signed up before",
    basis: assumed("The response for a second signup is not specified (DECISIONS.md, R23)."),
    says: "An account with this e-mail exists",
  }),
  "unknown-signup-token": detail({
    status: 404,
    when: "the signup token is unknown or used",
    basis: assumed("The response for an unknown token is not specified (DECISIONS.md, R24)."),
    says: "Unknown or used signup token",
  }),
  "unknown-cluster-location": detail({
    status: 400,
    when: "cluster_location is not the ID, label or region of a cluster",
    basis: assumed("The response for an unknown location is not specified (DECISIONS.md, R24)."),
    says: ({ location }: { location: string }) => `Unknown cluster location: ${location}`,
  }),
  "unknown-state": detail({
    status: 400,
    when: "the OAuth state was not issued here, or was used",
    basis: assumed("The response for an unknown state is not specified (DECISIONS.md, R25)."),
    says: "Unknown or used state",
  }),
  "unknown-provider-code": detail({
    status: 400,
    when: "the provider did not issue the code, or it was used",
    basis: assumed("The response for a rejected code is not specified (DECISIONS.md, R25)."),
    says: "Unknown or used code",
  }),
  "not-authenticated": detail({
    status: 401,
    when: "the basic credentials are missing, malformed or wrong",
    basis: "public",
    says: "Not authenticated",
    headers: () => ({ "www-authenticate": "Basic" }),
  }),
  "no-customer-id": detail({
    status: 400,
    when: "the event has no customer id of the form {cluster_id}_{workspace_id}",
    basis: "specified",
    says: "No customer id in the event",
  }),
};
