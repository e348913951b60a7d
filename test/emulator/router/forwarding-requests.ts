import { receiveActivity } from "../../../src/api/router/chat.ts";
import { hashEmail } from "../../../src/base/email-address.ts";
import { signCrmA, signCrmB } from "../../../src/schemes/connected-apps.ts";
import { formatBasicHeader } from "../../../src/schemes/http-authorization.ts";
import type { TestResponse } from "../../support/emulator.ts";
import type { RoutedEmulator } from "../../support/routed-emulator.ts";

/** Sends one request of an operation, with additional headers. */
type SendRequest = (emulator: RoutedEmulator, extraHeaders?: Readonly<Record<string, string>>) => Promise<TestResponse>;

/** Requests of an operation. A request is undefined if the operation never reaches one cluster, or never all. */
interface ForwardingRequests {
  readonly toOne?: SendRequest;
  readonly toAll?: SendRequest;
}

const crmSecret = "11111111-2222-3333-4444-555555555555";
const billing = { user: "billing", password: "s3cret" };

/** Credentials of the connected apps in the seed. */
export const apps = {
  crm_a: { client_secret: crmSecret },
  crm_b: { consumer_secret: crmSecret },
  billing: { username: billing.user, password: billing.password },
};

/** Maps the identifiers in the requests to eu-1. */
export async function mapIdentifiers(emulator: RoutedEmulator): Promise<void> {
  await emulator.map("teams", "eu-1", ["T1"]);
  await emulator.map("integrations", "eu-1", ["tenant-northwind"]);
  await emulator.map("creators", "eu-1", ["token-1"]);
  await emulator.map("emails", "eu-1", [hashEmail("ada@northwind.example")]);
}

const get =
  (path: string, headers: Readonly<Record<string, string>> = {}): SendRequest =>
  ({ router }, extraHeaders) =>
    router("GET", path, { headers: { ...headers, ...extraHeaders } });
const post =
  (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): SendRequest =>
  ({ router }, extraHeaders) =>
    router("POST", path, { body, headers: { ...headers, ...extraHeaders } });

/** Creates a request with an identifier of eu-1, and one with an unmapped identifier. */
const createBoth = (create: (name: string) => SendRequest, owned: string): ForwardingRequests => ({
  toOne: create(owned),
  toAll: create("else"),
});

const form = { "content-type": "application/x-www-form-urlencoded" };
const postForm = (path: string) => (team: string) =>
  post(path, `payload=${encodeURIComponent(JSON.stringify({ team: { id: team } }))}`, form);
const chatA = "/router/v1/integrations/chat_a/webhook";
const withinDefault = "/router/v1/integrations/destinations/default/chat_a";

const [{ body: activity }] = receiveActivity.examples;
const serviceUrl = "https://chat-b.example/eu";
const sendActivity: SendRequest = async (emulator, extraHeaders) => {
  const { body } = await emulator.control("POST", "chat-b/token", { body: { service_url: serviceUrl } });
  const authorization = `Bearer ${(body as { token: string }).token}`;
  return post("/router/v1/integrations/chat_b/webhook/messaging", { ...activity, serviceUrl })(emulator, {
    authorization,
    ...extraHeaders,
  });
};

const openCrmA =
  (target: string): SendRequest =>
  (emulator, extraHeaders) => {
    const timestamp = String(Date.parse("2031-01-02T03:04:05Z"));
    const url = emulator.routerUrl + target;
    const signed = { version: "v3", clientSecret: crmSecret, method: "GET", url, body: "", timestamp } as const;
    return get(target)(emulator, {
      "x-crm-a-signature": signCrmA(signed),
      "x-crm-a-signature-version": "v3",
      "x-crm-a-signature-timestamp": timestamp,
      ...extraHeaders,
    });
  };

const jwt = ["{}", JSON.stringify({ cluster: "eu-1" }), "x"].map((part) => Buffer.from(part).toString("base64url"));
const signedRequest = encodeURIComponent(signCrmB(crmSecret, JSON.stringify({ algorithm: "HMACSHA256", context: {} })));
const signup = { first_name: "Zoe", job_title: "GC", company_name: "Newco", industry: "x", use_case: "y" };
const completeTrial: SendRequest = async (emulator) => {
  const signupRequest = { email: "zoe@newco.example", captcha: "yes" };
  const { token } = (await emulator.router("POST", "/router/v1/trial/signup", { body: signupRequest })).body as {
    token: string;
  };
  return emulator.router("POST", "/router/v1/trial/signup/complete", { body: { ...signup, token } });
};
const createByState = (path: string) => createBoth((cluster) => get(`${path}?code=c&state=${cluster}_1`), "eu-1");
const createByToken = (path: string) => createBoth((token) => get(path + token), "token-1");
const createByCluster = (path: string) => createBoth((cluster) => get(`${path}?cluster_id=${cluster}`), "eu-1");

/** Requests of every operation that forwards to clusters, by operation. */
export const forwardingRequests: Readonly<Record<string, ForwardingRequests>> = {
  "chat-a.interaction": createBoth(postForm(`${chatA}/interaction`), "T1"),
  "chat-a.event": createBoth((team_id) => post(`${chatA}/event/`, { team_id }), "T1"),
  "chat-a.options": createBoth(postForm(`${chatA}/options`), "T1"),
  "chat-a.destination-interaction": createBoth(postForm(`${withinDefault}/webhook/interaction`), "T1"),
  "chat-a.destination-event": createBoth((team_id) => post(`${withinDefault}/webhook/event/`, { team_id }), "T1"),
  "chat-a.destination-options": createBoth(postForm(`${withinDefault}/webhook/options`), "T1"),
  "chat-a.oauth-redirect": { toAll: get(`${withinDefault}/oauth_redirect?code=c&state=s`) },
  "chat-b.messaging": { toOne: sendActivity },
  "trial.complete": { toOne: completeTrial },
  "mailer.webhook": createBoth(
    (cluster_id) => post("/api/v1/emails/mailer/webhook", { Metadata: { cluster_id } }),
    "eu-1",
  ),
  "crm-a.cards": { toOne: openCrmA("/router/v1/crm_a/cards") },
  "crm-a.iframe": { toOne: openCrmA("/router/v1/crm_a/iframe") },
  "crm-b.open": { toOne: post("/router/v1/crm_b/", `signed_request=${signedRequest}`, form) },
  "crm-b.canvas": { toOne: get("/router/v1/crm_b/") },
  "external-oauth.redirect": createByState("/router/v1/oauth2.0/external/ProviderA/redirect"),
  "billing.event": {
    toOne: post(
      "/router/v1/billing/webhook",
      { content: { customer: { id: "eu-1_7" } } },
      { authorization: formatBasicHeader(billing) },
    ),
  },
  "proxied.contract-invite": createByToken("/contract-invite/creator/by_token/"),
  "proxied.contract-invite-v3": createByToken("/v3/contract-invite/creator/by_token/"),
  "proxied.invite-info": createByToken("/auth/v3/invite_info/?token="),
  "proxied.user-invite": createByToken("/organization/user-invite/by_token/"),
  "proxied.oauth-login": createByCluster("/api/v1/svc_auth/oauth/login"),
  "proxied.oauth-signup": createByCluster("/api/v1/svc_auth/oauth/signup"),
  "proxied.oauth-callback": createByState("/api/v1/svc_auth/oauth/callback"),
  "proxied.oauth-signup-callback": createByState("/api/v1/svc_auth/oauth/signup/callback"),
  "proxied.login-v2": createBoth((email) => post("/api/v1/svc_auth/login_v2/", { email }), "ada@northwind.example"),
  "proxied.captcha-config": { toAll: get("/api/v1/auth/captcha-config") },
  "oidc.jwks": { toAll: get("/.well-known/jwks.json") },
  "oidc.discovery": { toAll: get("/.well-known/openid-configuration") },
  "oidc.token": { toOne: post("/api/v1/oauth/token/", { grant_type: "authorization_code", code: "eu-1_c" }) },
  "oidc.userinfo": { toOne: get("/api/v1/oauth/userinfo/", { authorization: `Bearer ${jwt.join(".")}` }) },
  "catch-all": createByCluster("/nowhere"),
};
