import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { empty, type Operation } from "../../src/api/operation.ts";
import { registry, withoutDuplicates } from "../../src/api/registry.ts";
import { contracts } from "../../src/api/services.ts";

/** The specification of the routing service, Endpoints: all 57, in its order. */
const routingService = [
  "GET /",
  "GET, POST, PUT, PATCH, DELETE /{full_path}",
  "POST /router/v1/integrations/chat_a/webhook/interaction",
  "POST /router/v1/integrations/chat_a/webhook/event/",
  "POST /router/v1/integrations/chat_a/webhook/options",
  "POST /router/v1/integrations/destinations/{destination}/chat_a/webhook/interaction",
  "POST /router/v1/integrations/destinations/{destination}/chat_a/webhook/event/",
  "POST /router/v1/integrations/destinations/{destination}/chat_a/webhook/options",
  "GET /router/v1/integrations/destinations/{destination}/chat_a/oauth_redirect",
  "POST /router/v1/integrations/chat_b/webhook/messaging",
  "GET /router/v1/cluster_emails/email/{email_hash}",
  "POST /router/v1/cluster_emails/bulk",
  "DELETE /router/v1/cluster_emails/bulk",
  "GET /router/v1/cluster_clients/client/{client_id}",
  "POST /router/v1/cluster_clients/bulk",
  "DELETE /router/v1/cluster_clients/bulk",
  "POST /router/v1/cluster_tokens/bulk/creator",
  "DELETE /router/v1/cluster_tokens/bulk/creator",
  "POST /router/v1/cluster_tokens/bulk/counter_party",
  "DELETE /router/v1/cluster_tokens/bulk/counter_party",
  "POST /router/v1/cluster_chat_a_teams/bulk",
  "DELETE /router/v1/cluster_chat_a_teams/bulk",
  "POST /router/v1/cluster_external_integrations/bulk",
  "DELETE /router/v1/cluster_external_integrations/bulk",
  "GET /router/v1/clusters/",
  "DELETE /router/v1/clusters/{cluster_id}/workspace-data",
  "POST /router/v1/trial/signup",
  "POST /router/v1/trial/signup/complete",
  "GET /router/v1/trial/signup/oauth",
  "GET /router/v1/trial/signup/oauth/callback",
  "POST /router/v1/mailer/inbound/blackhole",
  "POST /router/v1/crm_b/",
  "GET /router/v1/crm_b/",
  "GET /router/v1/crm_a/iframe",
  "GET /router/v1/crm_a/cards",
  "GET /router/v1/oauth2.0/external/{provider}/redirect",
  "POST /router/v1/oauth2.0/device/code/",
  "POST /router/v1/oauth2.0/token/",
  "POST /router/v1/oauth2.0/client/",
  "POST /router/v1/oauth2.0/device/cluster_info/",
  "POST /router/v1/billing/webhook",
  "POST /router/v1/contract_signatories/",
  "GET /contract-invite/{email_type}/by_token/{token}",
  "GET /v3/contract-invite/{email_type}/by_token/{token}",
  "GET /auth/v3/invite_info/",
  "GET /organization/user-invite/by_token/{token}",
  "GET /api/v1/svc_auth/oauth/login",
  "GET /api/v1/svc_auth/oauth/callback",
  "GET /api/v1/svc_auth/oauth/signup",
  "GET /api/v1/svc_auth/oauth/signup/callback",
  "POST /api/v1/emails/mailer/webhook",
  "POST /api/v1/svc_auth/login_v2/",
  "GET /api/v1/auth/captcha-config",
  "GET /.well-known/jwks.json",
  "GET /.well-known/openid-configuration",
  "POST /api/v1/oauth/token/",
  "GET /api/v1/oauth/userinfo/",
];

/** The specification of the contract API, Endpoints, and DECISIONS.md, C14 to C16. */
const contractApi = [
  "POST /api/v2.1/public/workspace/files/uploads/",
  "GET /api/v2.1/public/workspace/files/{file_id}/",
  "POST /api/v1/public/legal_intake/",
  "POST /api/v2.1/public/contracts/executed_contracts/",
  "POST /api/v2.1/public/contracts/{contract_id}/external_metadata",
  "GET /api/v2.1/public/contracts/by_external_metadata/{external_metadata_id}",
  "POST /api/v2.1/public/contracts/upload_review_contracts/",
  "POST /api/v2.1/public/contracts/upload_sign_contracts/",
  "POST /api/v2.1/public/contracts/",
  "POST /api/v2.1/public/contracts/{composite_id}/send_to_counterparties",
  "GET /api/v2.1/public/contracts/{composite_id}/status",
  "GET /api/v2.1/public/contracts/{composite_id}/recipients/",
  "POST /api/v2.1/public/webhooks/",
  "PATCH /api/v2.1/public/contracts/{composite_id}/intake_form/response",
  "GET /api/v2.1/public/webhooks/hmac_key/",
  "DELETE /api/v2.1/public/webhooks/{webhook_id}",
];

const routesOf = (service: string): string[] =>
  registry
    .filter((operation) => operation.service.name === service)
    .map(({ method, path }) => `${[method].flat().join(", ")} ${path}`);

const show: Operation = {
  id: "things.show",
  service: contracts,
  summary: "Show a thing",
  method: "GET",
  path: "/things",
  auth: "none",
  request: {},
  responses: { 204: empty() },
  failures: [],
  cli: { command: "things show" },
  basis: "specified",
  examples: [],
};
const other: Operation = { ...show, id: "things.list", path: "/all", cli: { command: "things list" } };

describe("the registry", () => {
  it("holds the operations of the routing service and no other", () => {
    assert.equal(routingService.length, 57);
    assert.deepEqual(routesOf("router").toSorted(), routingService.toSorted());
  });

  it("holds the operations of the public contract API, beside what is known of it publicly", () => {
    const declared = new Set(routesOf("contracts"));
    assert.deepEqual(
      contractApi.filter((route) => !declared.has(route)),
      [],
    );
  });

  it("holds the signed storage's PUT and GET", () =>
    assert.deepEqual(
      routesOf("storage").map((route) => route.split(" ")[0]),
      ["GET", "PUT"],
    ));

  for (const [what, twin, message] of [
    ["id", { ...other, id: show.id }, "things.show and things.show both have the id things.show"],
    ["route", { ...other, path: "/things" }, "things.list and things.show both have the route contracts GET /things"],
    ["command", { ...other, cli: show.cli }, "things.list and things.show both have the command things show"],
  ] as const) {
    it(`does not take two operations of one ${what}, and names both`, () =>
      assert.throws(() => withoutDuplicates([show, twin]), { message }));
  }

  it("takes what differs", () => assert.deepEqual(withoutDuplicates([show, other]), [show, other]));
});
